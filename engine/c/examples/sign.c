// Signs and verifies with a key file: one signature, then a batch.
//
//   cc sign.c -o sign $(pkg-config --cflags --libs tollgate) && ./sign key.pem
#include <stdio.h>
#include <stdlib.h>
#include <tollgate.h>

enum { BATCH = 20, DIGEST = 32, SIZE_MAX_BYTES = 1024 };

static void check(int code) {
  if (code != TOLLGATE_OK) {
    fprintf(stderr, "sign: %s\n", tollgate_last_error());
    exit(2);
  }
}

static tollgate_private_key *read_key(const char *path) {
  static char pem[1 << 16];
  tollgate_private_key *key;
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(2);
  }
  size_t len = fread(pem, 1, sizeof pem, file);
  fclose(file);
  check(tollgate_private_key_from_pem(pem, len, &key));
  return key;
}

int main(int argc, char **argv) {
  static unsigned char digests[BATCH][DIGEST], signatures[BATCH][SIZE_MAX_BYTES];
  tollgate_operation batch[BATCH] = {{0}};
  tollgate_verification back[BATCH] = {{0}};
  const tollgate_scheme pss = {.kind = TOLLGATE_RSASSA_PSS, .hash = TOLLGATE_SHA256};
  const tollgate_scheme v15 = {.kind = TOLLGATE_RSASSA_PKCS1V15, .hash = TOLLGATE_SHA256};
  tollgate_public_key *public_key;

  if (argc != 2) {
    fprintf(stderr, "usage: sign KEY.pem\n");
    return 2;
  }
  tollgate_private_key *key = read_key(argv[1]);
  size_t size = tollgate_private_key_size(key);
  check(tollgate_private_key_public(key, &public_key));

  check(tollgate_digest(TOLLGATE_SHA256, (const unsigned char *)"a message", 9, digests[0], DIGEST));
  check(tollgate_sign(key, &pss, digests[0], DIGEST, signatures[0], size));
  check(tollgate_verify(public_key, &pss, digests[0], DIGEST, signatures[0], size));
  printf("one signature of %zu bytes is valid\n", size);

  for (int i = 0; i < BATCH; i++) {
    const unsigned char message = (unsigned char)i;
    check(tollgate_digest(TOLLGATE_SHA256, &message, 1, digests[i], DIGEST));
    batch[i].key = key;
    batch[i].scheme = i % 2 ? &pss : &v15;
    batch[i].input = digests[i];
    batch[i].input_len = DIGEST;
    batch[i].output = signatures[i];
    batch[i].output_capacity = size;
  }
  check(tollgate_run_batch(batch, BATCH));
  for (int i = 0; i < BATCH; i++) {
    back[i].key = public_key;
    back[i].scheme = batch[i].scheme;
    back[i].digest = digests[i];
    back[i].digest_len = DIGEST;
    back[i].signature = signatures[i];
    back[i].signature_len = batch[i].output_len;
  }
  check(tollgate_verify_batch(back, BATCH));
  printf("a batch of %d signatures is valid\n", BATCH);

  check(tollgate_public_key_free(public_key));
  check(tollgate_private_key_free(key));
  return 0;
}
