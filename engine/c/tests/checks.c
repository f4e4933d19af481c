// Calls every function of the library, rightly and wrongly. Run by programs.rs.
//
//   checks KEY.pem OTHER-KEY.pem PUBLIC-KEY.pem [careful]
//
// `careful`: a tool watches the memory, so nothing is freed twice, and everything takes long.
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tollgate.h>
#include <unistd.h>

enum { DIGEST = 32, SIZE = 1024, MANY = 23 };

static int careful;
static tollgate_private_key *key, *other;
static tollgate_public_key *half;
static unsigned char digest[DIGEST], result[SIZE], untouched[SIZE];
static const tollgate_scheme v15 = {.kind = TOLLGATE_RSASSA_PKCS1V15, .hash = TOLLGATE_SHA256};
static const tollgate_scheme pss = {.kind = TOLLGATE_RSASSA_PSS, .hash = TOLLGATE_SHA256};
static const tollgate_scheme oaep = {.kind = TOLLGATE_RSAES_OAEP, .hash = TOLLGATE_SHA256};
static const tollgate_scheme old = {.kind = TOLLGATE_RSAES_PKCS1V15};

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tollgate_last_error());        \
      exit(1);                                                                                  \
    }                                                                                           \
  } while (0)
#define GIVES(code, call) CHECK((call) == (code))
#define OK(call) GIVES(TOLLGATE_OK, call)
// A wrong call also leaves the output alone.
#define WRONG(call)                                                                             \
  do {                                                                                          \
    memset(result, 0xa5, SIZE);                                                                 \
    GIVES(TOLLGATE_MISUSE, call);                                                               \
    CHECK(memcmp(result, untouched, SIZE) == 0 && strlen(tollgate_last_error()) > 20);          \
  } while (0)

static size_t read_file(const char *path, char *buffer, size_t capacity) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t len = fread(buffer, 1, capacity, file);
  fclose(file);
  return len;
}

static tollgate_private_key *read_key(const char *path) {
  static char pem[1 << 16];
  tollgate_private_key *read;
  size_t len = read_file(path, pem, sizeof pem);
  OK(tollgate_private_key_from_pem(pem, len, &read));
  return read;
}

static tollgate_operation signing(const tollgate_private_key *with, const tollgate_scheme *scheme,
                                  unsigned char *signature) {
  tollgate_operation operation = {.key = with, .scheme = scheme, .input = digest,
                                  .input_len = DIGEST, .output = signature,
                                  .output_capacity = SIZE};
  return operation;
}

static int is_signed(const tollgate_operation *operation, const tollgate_scheme *scheme) {
  tollgate_public_key *public_key;
  OK(tollgate_private_key_public(operation->key, &public_key));
  int code = tollgate_verify(public_key, scheme, digest, DIGEST, operation->output,
                             operation->output_len);
  OK(tollgate_public_key_free(public_key));
  return operation->code == TOLLGATE_OK && code == TOLLGATE_OK;
}

static void texts(void) {
  for (int code = -2; code < 20; code++) CHECK(strlen(tollgate_error_text(code)) > 4);
  CHECK(strcmp(tollgate_last_error(), "") == 0);
  CHECK(strlen(tollgate_version()) >= 5);
}

// Decodes the block of a PEM file in place, and returns the length of its DER.
static size_t decode(char *pem, size_t len) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t out = 0, bits = 0;
  unsigned value = 0;
  for (size_t at = strcspn(pem, "\n"); at < len && pem[at] != '-'; at++) {
    const char *digit = pem[at] ? strchr(digits, pem[at]) : NULL;
    if (digit == NULL) continue;
    value = value << 6 | (unsigned)(digit - digits);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    pem[out++] = (char)(value >> bits);
  }
  return out;
}

static void keys(const char *private_file, const char *public_file) {
  static char file[1 << 13];
  unsigned char *der = (unsigned char *)file;
  tollgate_private_key *again = (tollgate_private_key *)der;
  tollgate_public_key *public_key = (tollgate_public_key *)der;

  size_t len = read_file(private_file, file, sizeof file);
  GIVES(TOLLGATE_REJECTED, tollgate_private_key_from_pem(file, len - 20, &again));
  len = decode(file, len);
  OK(tollgate_private_key_from_der(der, len, &again));
  CHECK(tollgate_private_key_bits(again) == tollgate_private_key_bits(key));
  OK(tollgate_private_key_free(again));
  for (size_t shorter = 0; shorter < len; shorter += careful ? 400 : 7) {
    int code = tollgate_private_key_from_der(der, shorter, &again);
    CHECK(code == TOLLGATE_REJECTED && again == NULL);
  }

  len = read_file(public_file, file, sizeof file);
  OK(tollgate_public_key_from_pem(file, len, &public_key));
  CHECK(tollgate_public_key_size(public_key) == 256);
  CHECK(tollgate_public_key_bits(public_key) == 2048);
  OK(tollgate_public_key_free(public_key));
  GIVES(TOLLGATE_REJECTED, tollgate_private_key_from_pem(file, len, &again));
  len = decode(file, len);
  OK(tollgate_public_key_from_der(der, len, &public_key));
  OK(tollgate_public_key_free(public_key));
  file[0] = '\xff';
  GIVES(TOLLGATE_MISUSE, tollgate_public_key_from_pem(file, len, &public_key));

  WRONG(tollgate_private_key_from_der(NULL, 3, &again));
  WRONG(tollgate_private_key_from_der(der, (size_t)-1, &again));
  WRONG(tollgate_private_key_from_der(der, 3, NULL));
  CHECK(again == NULL);
  CHECK(tollgate_private_key_size(NULL) == 0 && tollgate_public_key_bits(NULL) == 0);
}

static void signatures(void) {
  size_t size = tollgate_private_key_size(key);
  const tollgate_scheme *schemes[] = {&v15, &pss};
  for (int i = 0; i < 2; i++) {
    OK(tollgate_sign(key, schemes[i], digest, DIGEST, result, size));
    OK(tollgate_verify(half, schemes[i], digest, DIGEST, result, size));
    const int other_scheme = tollgate_verify(half, schemes[1 - i], digest, DIGEST, result, size);
    CHECK(other_scheme == TOLLGATE_SIGNATURE_INVALID);
    GIVES(TOLLGATE_SIGNATURE_INVALID,
          tollgate_verify(half, schemes[i], digest, DIGEST, result, size - 1));
    result[9] ^= 1;
    GIVES(TOLLGATE_SIGNATURE_INVALID,
          tollgate_verify(half, schemes[i], digest, DIGEST, result, size));
  }
  tollgate_scheme exact = pss;
  exact.salt = TOLLGATE_SALT_EXACT;
  exact.salt_len = 7;
  exact.mgf_hash = TOLLGATE_SHA1;
  OK(tollgate_sign(key, &exact, digest, DIGEST, result, size));
  OK(tollgate_verify(half, &exact, digest, DIGEST, result, size));
  exact.salt_len = 8;
  GIVES(TOLLGATE_SIGNATURE_INVALID, tollgate_verify(half, &exact, digest, DIGEST, result, size));
  exact.salt = TOLLGATE_SALT_ANY;
  OK(tollgate_verify(half, &exact, digest, DIGEST, result, size));
  WRONG(tollgate_sign(key, &exact, digest, DIGEST, result, size));
  exact.salt = TOLLGATE_SALT_EXACT;
  exact.salt_len = (size_t)-1;
  GIVES(TOLLGATE_REJECTED, tollgate_sign(key, &exact, digest, DIGEST, result, size));
  tollgate_scheme broken = v15;
  broken.hash = TOLLGATE_SHA1;
  GIVES(TOLLGATE_REJECTED, tollgate_sign(key, &broken, digest, 20, result, size));
  GIVES(TOLLGATE_REJECTED, tollgate_sign(key, &v15, digest, 31, result, size));

  // The output may be the input.
  memcpy(result, digest, DIGEST);
  OK(tollgate_sign(key, &v15, result, DIGEST, result, size));
  OK(tollgate_verify(half, &v15, digest, DIGEST, result, size));

  tollgate_scheme unknown = v15;
  unknown.kind = 99;
  WRONG(tollgate_sign(key, &unknown, digest, DIGEST, result, size));
  unknown.kind = TOLLGATE_RSASSA_PSS;
  unknown.hash = -1;
  WRONG(tollgate_sign(key, &unknown, digest, DIGEST, result, size));
  WRONG(tollgate_sign(NULL, &v15, digest, DIGEST, result, size));
  WRONG(tollgate_sign(key, NULL, digest, DIGEST, result, size));
  WRONG(tollgate_sign(key, &v15, NULL, DIGEST, result, size));
  WRONG(tollgate_sign(key, &v15, digest, DIGEST, NULL, size));
  WRONG(tollgate_sign(key, &v15, digest, DIGEST, result, size - 1));
  WRONG(tollgate_sign(key, &oaep, digest, DIGEST, result, size));
  WRONG(tollgate_verify(half, &oaep, digest, DIGEST, result, size));
  WRONG(tollgate_sign((tollgate_private_key *)half, &v15, digest, DIGEST, result, size));
  WRONG(tollgate_verify((tollgate_public_key *)key, &v15, digest, DIGEST, result, size));
  WRONG(tollgate_digest(TOLLGATE_SHA512, digest, DIGEST, result, 63));
  WRONG(tollgate_digest(0, digest, DIGEST, result, DIGEST));
}

static void encryption(void) {
  static unsigned char ciphertext[SIZE];
  size_t size = tollgate_private_key_size(key), len = 7;
  tollgate_scheme label = oaep;
  label.label = (const unsigned char *)"label";
  label.label_len = 5;
  const tollgate_scheme *schemes[] = {&oaep, &label, &old};
  for (int i = 0; i < 3; i++) {
    OK(tollgate_encrypt(half, schemes[i], digest, 16, ciphertext, size));
    OK(tollgate_decrypt(key, schemes[i], ciphertext, size, result, size, &len));
    CHECK(len == 16 && memcmp(result, digest, 16) == 0);
  }
  // Implicit rejection: any ciphertext below n decrypts, to the same message each time.
  memset(ciphertext, 1, size);
  ciphertext[0] = 0;
  OK(tollgate_decrypt(key, &old, ciphertext, size, result, size, &len));
  unsigned char first[SIZE];
  size_t first_len = len;
  memcpy(first, result, SIZE);
  OK(tollgate_decrypt(key, &old, ciphertext, size, result, size, &len));
  CHECK(len == first_len && memcmp(first, result, len) == 0);

  memset(result, 0xa5, SIZE);
  GIVES(TOLLGATE_DECRYPTION_FAILED,
        tollgate_decrypt(key, &oaep, ciphertext, size, result, size, &len));
  CHECK(len == 0 && memcmp(result, untouched, SIZE) == 0);
  GIVES(TOLLGATE_DECRYPTION_FAILED,
        tollgate_decrypt(key, &old, ciphertext, size - 1, result, size, &len));
  GIVES(TOLLGATE_REJECTED, tollgate_encrypt(half, &oaep, result, size, ciphertext, size));
  WRONG(tollgate_decrypt(key, &v15, ciphertext, size, result, size, &len));
  WRONG(tollgate_decrypt(key, &old, ciphertext, size, result, size - 1, &len));
  WRONG(tollgate_decrypt(key, &old, ciphertext, size, result, size, NULL));
  WRONG(tollgate_decrypt(key, &old, NULL, size, result, size, &len));
  WRONG(tollgate_encrypt(half, &pss, digest, 16, result, size));
  WRONG(tollgate_encrypt(half, &oaep, digest, 16, result, size - 1));
}

// Two keys of different sizes, all schemes, and two operations that fail among them.
static void batches(void) {
  static unsigned char outputs[MANY][SIZE];
  static tollgate_operation batch[MANY];
  static tollgate_verification back[MANY];
  for (int i = 0; i < MANY; i++) {
    batch[i] = signing(i % 3 ? key : other, i % 2 ? &v15 : &pss, outputs[i]);
  }
  OK(tollgate_run_batch(batch, MANY));
  for (int i = 0; i < MANY; i++) {
    CHECK(is_signed(&batch[i], batch[i].scheme));
    tollgate_verification verification = {
        .key = half, .scheme = batch[i].scheme, .digest = digest, .digest_len = DIGEST,
        .signature = outputs[i], .signature_len = batch[i].output_len};
    back[i] = verification;
  }
  // Those of the other key are not signatures of this one.
  GIVES(TOLLGATE_SIGNATURE_INVALID, tollgate_verify_batch(back, MANY));
  CHECK(strncmp(tollgate_last_error(), "verification 0: ", 16) == 0);
  for (int i = 0; i < MANY; i++) {
    CHECK(back[i].code == (i % 3 ? TOLLGATE_OK : TOLLGATE_SIGNATURE_INVALID));
  }
  batch[5].key = NULL;
  batch[7].input_len = 5;
  memset(outputs, 0xa5, sizeof outputs);
  GIVES(TOLLGATE_MISUSE, tollgate_run_batch(batch, MANY));
  CHECK(strncmp(tollgate_last_error(), "operation 5: ", 13) == 0);
  for (int i = 0; i < MANY; i++) {
    if (i == 5 || i == 7) {
      CHECK(batch[i].code == (i == 5 ? TOLLGATE_MISUSE : TOLLGATE_REJECTED));
      CHECK(batch[i].output_len == 0 && memcmp(outputs[i], untouched, SIZE) == 0);
    } else {
      CHECK(is_signed(&batch[i], batch[i].scheme));
    }
  }
  OK(tollgate_run_batch(NULL, 0));
  OK(tollgate_verify_batch(NULL, 0));
  WRONG(tollgate_run_batch(NULL, 1));
  WRONG(tollgate_run_batch(batch, (size_t)-1 / 8));
}

static void queues(void) {
  static unsigned char outputs[MANY][SIZE];
  static tollgate_operation operations[MANY];
  tollgate_queue *queue;
  tollgate_operation *done;
  tollgate_loop *loop;
  uint64_t requests, calls;

  OK(tollgate_queue_start(2 * MANY, 0, &queue));
  operations[0] = signing(key, &v15, outputs[0]);
  OK(tollgate_queue_run(queue, &operations[0]));
  CHECK(is_signed(&operations[0], &v15));

  WRONG(tollgate_loop_submit((tollgate_loop *)queue, &operations[0]));
  CHECK(tollgate_loop_fd(NULL) == -1);

  OK(tollgate_loop_new(queue, &loop));
  struct pollfd ready = {.fd = tollgate_loop_fd(loop), .events = POLLIN};
  CHECK(poll(&ready, 1, 0) == 0);
  for (int i = 0; i < MANY; i++) {
    operations[i] = signing(key, &pss, outputs[i]);
    operations[i].context = loop;
    OK(tollgate_loop_submit(loop, &operations[i]));
  }
  GIVES(TOLLGATE_FULL, tollgate_loop_submit(loop, &operations[0]));
  for (int left = MANY; left > 0;) {
    CHECK(poll(&ready, 1, 60000) == 1);
    while (tollgate_loop_next(loop, &done) == TOLLGATE_OK && done != NULL) {
      CHECK(done->context == loop && is_signed(done, &pss));
      done->context = NULL;
      left--;
    }
  }
  CHECK(poll(&ready, 1, 0) == 0);
  OK(tollgate_loop_next(loop, &done));
  CHECK(done == NULL);
  OK(tollgate_queue_counts(queue, &requests, &calls));
  CHECK(requests == MANY + 1 && calls <= requests);

  // A child has an error for everything of the queue, and can sign without it.
  pid_t child = fork();
  if (child == 0) {
    GIVES(TOLLGATE_FORKED, tollgate_queue_run(queue, &operations[0]));
    GIVES(TOLLGATE_FORKED, tollgate_loop_submit(loop, &operations[0]));
    GIVES(TOLLGATE_FORKED, tollgate_loop_next(loop, &done));
    OK(tollgate_loop_free(loop));
    OK(tollgate_queue_free(queue));
    OK(tollgate_sign(key, &v15, digest, DIGEST, result, tollgate_private_key_size(key)));
    // The memory of the parent's threads is lost in a child, so it must not be searched for leaks.
    kill(getpid(), SIGKILL);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

  // Freeing a loop cancels what is not done. The queue closes, and another loop stays valid.
  tollgate_loop *cancelled;
  OK(tollgate_loop_new(queue, &cancelled));
  OK(tollgate_loop_submit(cancelled, &operations[0]));
  OK(tollgate_loop_free(cancelled));
  OK(tollgate_queue_free(queue));
  GIVES(TOLLGATE_CLOSED, tollgate_loop_submit(loop, &operations[0]));
  OK(tollgate_loop_free(loop));
  if (!careful) {
    GIVES(TOLLGATE_MISUSE, tollgate_loop_free(loop));
  }
}

int main(int argc, char **argv) {
  CHECK(argc >= 4);
  careful = argc > 4;
  memset(untouched, 0xa5, SIZE);
  texts();
  key = read_key(argv[1]);
  other = read_key(argv[2]);
  OK(tollgate_private_key_public(key, &half));
  OK(tollgate_digest(TOLLGATE_SHA256, (const unsigned char *)"abc", 3, digest, DIGEST));
  CHECK(digest[0] == 0xba && digest[31] == 0xad);
  keys(argv[1], argv[3]);
  signatures();
  encryption();
  batches();
  queues();
  GIVES(TOLLGATE_MISUSE, tollgate_queue_start((size_t)-1, 0, &(tollgate_queue *){NULL}));
  OK(tollgate_public_key_free(NULL));
  OK(tollgate_queue_free(NULL));
  OK(tollgate_public_key_free(half));
  OK(tollgate_private_key_free(key));
  OK(tollgate_private_key_free(other));
  puts("all checks passed");
  return 0;
}
