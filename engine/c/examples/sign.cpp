// As sign.c, in C++: handles that free themselves, and errors as exceptions.
//
//   c++ sign.cpp -o sign $(pkg-config --cflags --libs tollgate) && ./sign key.pem
#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tollgate.h>

namespace {

void check(int code) {
  if (code != TOLLGATE_OK) throw std::runtime_error(tollgate_last_error());
}

struct Free {
  void operator()(tollgate_private_key *key) const { tollgate_private_key_free(key); }
  void operator()(tollgate_public_key *key) const { tollgate_public_key_free(key); }
};
using PrivateKey = std::unique_ptr<tollgate_private_key, Free>;
using PublicKey = std::unique_ptr<tollgate_public_key, Free>;
using Digest = std::array<unsigned char, 32>;

PrivateKey read_key(const char *path) {
  std::ifstream file(path);
  const std::string pem(std::istreambuf_iterator<char>(file), {});
  tollgate_private_key *key = nullptr;
  check(tollgate_private_key_from_pem(pem.data(), pem.size(), &key));
  return PrivateKey(key);
}

PublicKey public_half(const PrivateKey &key) {
  tollgate_public_key *half = nullptr;
  check(tollgate_private_key_public(key.get(), &half));
  return PublicKey(half);
}

Digest sha256(const std::string &message) {
  Digest digest;
  check(tollgate_digest(TOLLGATE_SHA256, reinterpret_cast<const unsigned char *>(message.data()),
                        message.size(), digest.data(), digest.size()));
  return digest;
}

void run(const char *path) {
  const PrivateKey key = read_key(path);
  const PublicKey half = public_half(key);
  const std::size_t size = tollgate_private_key_size(key.get());
  tollgate_scheme pss{};
  pss.kind = TOLLGATE_RSASSA_PSS;
  pss.hash = TOLLGATE_SHA256;

  constexpr std::size_t count = 20;
  std::vector<Digest> digests;
  std::vector<std::vector<unsigned char>> signatures(count, std::vector<unsigned char>(size));
  std::vector<tollgate_operation> batch(count);
  for (std::size_t i = 0; i < count; i++) digests.push_back(sha256(std::to_string(i)));
  for (std::size_t i = 0; i < count; i++) {
    batch[i].key = key.get();
    batch[i].scheme = &pss;
    batch[i].input = digests[i].data();
    batch[i].input_len = digests[i].size();
    batch[i].output = signatures[i].data();
    batch[i].output_capacity = size;
  }
  check(tollgate_run_batch(batch.data(), batch.size()));
  for (std::size_t i = 0; i < count; i++) {
    check(tollgate_verify(half.get(), &pss, digests[i].data(), digests[i].size(),
                          signatures[i].data(), signatures[i].size()));
  }
  std::cout << "a batch of " << count << " signatures is valid\n";
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: sign KEY.pem\n";
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception &error) {
    std::cerr << "sign: " << error.what() << '\n';
    return 2;
  }
}
