/* libtollgate: RSA in lanes, for C and C++. The guide is docs/c.md.
 *
 * Rules for all functions:
 *
 * Results. A function returns a tollgate_code, 0 for success. tollgate_last_error() has the text.
 * After an error, outputs are unchanged, except that a new handle is NULL and a length 0.
 *
 * Arguments. NULL, wrong lengths, unknown numbers and handles of the wrong type give
 * TOLLGATE_MISUSE. A pointer that is not NULL must be valid for its length. To use a handle after
 * it was freed is undefined; in most cases it gives TOLLGATE_MISUSE. An output may overlap its own input.
 *
 * Threads. Threads may share keys and queues. A loop is for one thread at a time.
 *
 * Fork. A child may use its parent's keys, but not its queues and loops: they give TOLLGATE_FORKED.
 *
 * Made by cargo xtask header; do not edit.
 */

#ifndef TOLLGATE_H
#define TOLLGATE_H

#include <stddef.h>
#include <stdint.h>

// Results of functions. The numbers do not change between releases.
typedef enum tollgate_code {
  // Success.
  TOLLGATE_OK = 0,
  // Operations of the queue still run. Not an error: call again later.
  TOLLGATE_PENDING = 1,
  // The signature is not valid. There is one code for every reason.
  TOLLGATE_SIGNATURE_INVALID = 2,
  // The ciphertext does not decrypt. There is one code for every reason.
  TOLLGATE_DECRYPTION_FAILED = 3,
  // A key, digest or message is not acceptable: use another one.
  TOLLGATE_REJECTED = 4,
  // The call is wrong, e.g. a pointer is NULL or a length does not fit: correct the program.
  TOLLGATE_MISUSE = 5,
  // The queue is full, or the caller has its share of it: take results, then retry.
  TOLLGATE_FULL = 6,
  // The process was forked from the one that created the object: create one in this process.
  TOLLGATE_FORKED = 7,
  // The queue accepts no more operations: start another one.
  TOLLGATE_CLOSED = 8,
  // The system gave no random bytes, thread or descriptor: repair it, then retry.
  TOLLGATE_UNAVAILABLE = 9,
  // The check of the result failed and nothing was released: test the machine.
  TOLLGATE_FAULT = 10,
  // The library has a bug; the panic's message is on standard error: report it.
  TOLLGATE_PANIC = 11,
} tollgate_code;

// Hash functions.
typedef enum tollgate_hash {
  // For verification and OAEP only: signatures with SHA-1 can be forged.
  TOLLGATE_SHA1 = 1,
  TOLLGATE_SHA224 = 2,
  TOLLGATE_SHA256 = 3,
  TOLLGATE_SHA384 = 4,
  TOLLGATE_SHA512 = 5,
  TOLLGATE_SHA512_224 = 6,
  TOLLGATE_SHA512_256 = 7,
  TOLLGATE_SHA3_224 = 8,
  TOLLGATE_SHA3_256 = 9,
  TOLLGATE_SHA3_384 = 10,
  TOLLGATE_SHA3_512 = 11,
  TOLLGATE_SM3 = 12,
} tollgate_hash;

// The schemes of RFC 8017.
typedef enum tollgate_scheme_kind {
  // Signatures with PKCS#1 v1.5 padding. Uses hash.
  TOLLGATE_RSASSA_PKCS1V15 = 1,
  // Signatures with PSS padding. Uses hash, mgf_hash, salt and salt_len.
  TOLLGATE_RSASSA_PSS = 2,
  // Encryption with PKCS#1 v1.5 padding. A ciphertext with bad padding decrypts to a message
  // that depends on key and ciphertext only (implicit rejection): treat real and such messages
  // alike, whatever their length.
  TOLLGATE_RSAES_PKCS1V15 = 3,
  // Encryption with OAEP padding. Uses hash, mgf_hash, label and label_len.
  TOLLGATE_RSAES_OAEP = 4,
} tollgate_scheme_kind;

// The length of the salt of PSS.
typedef enum tollgate_salt {
  // The length of the digest, as TLS 1.3 requires.
  TOLLGATE_SALT_DIGEST = 0,
  // salt_len bytes.
  TOLLGATE_SALT_EXACT = 1,
  // The longest that the key allows.
  TOLLGATE_SALT_MAX = 2,
  // Any length. For verification only.
  TOLLGATE_SALT_ANY = 3,
} tollgate_salt;

// The operations of an event loop. One thread at a time uses it; several loops may share a queue.
typedef struct tollgate_loop tollgate_loop;

// A private key of 512 to 8192 bits, checked when it is read. Threads may share it. Operations
// that were submitted keep what they need of it, so it may be freed before they are done.
typedef struct tollgate_private_key tollgate_private_key;

// A public key of 512 to 8192 bits. Threads may share it.
typedef struct tollgate_public_key tollgate_public_key;

// A queue of operations, with one unit of lanes for each core that the process may use. Threads
// may share it. A forked child cannot use its parent's queue: it gets TOLLGATE_FORKED.
typedef struct tollgate_queue tollgate_queue;

// A scheme with its parameters. Set those that you do not use to 0.
typedef struct tollgate_scheme {
  // One of tollgate_scheme_kind.
  int kind;
  // One of tollgate_hash: the function of the digest, or of OAEP's label.
  int hash;
  // One of tollgate_hash: the function of the mask (MGF1). 0 is the same as hash.
  int mgf_hash;
  // One of tollgate_salt.
  int salt;
  // Bytes of salt, for TOLLGATE_SALT_EXACT.
  size_t salt_len;
  // OAEP's label, usually empty: NULL and 0.
  const uint8_t *label;
  // Bytes of the label.
  size_t label_len;
} tollgate_scheme;

// A signature to verify in a batch.
typedef struct tollgate_verification {
  // The key.
  const struct tollgate_public_key *key;
  // TOLLGATE_RSASSA_PKCS1V15 or TOLLGATE_RSASSA_PSS.
  const struct tollgate_scheme *scheme;
  // The digest of the message.
  const uint8_t *digest;
  // Bytes of digest.
  size_t digest_len;
  // The signature.
  const uint8_t *signature;
  // Bytes of signature.
  size_t signature_len;
  // Set at the end: one of tollgate_code.
  int code;
} tollgate_verification;

// A signature or a decryption, for batches and queues: the scheme says which.
//
// key, scheme and input are read when the operation is submitted. The structure and its output
// must stay valid until the operation is done; nobody else may use them until then.
typedef struct tollgate_operation {
  // The key.
  const struct tollgate_private_key *key;
  // The scheme.
  const struct tollgate_scheme *scheme;
  // A digest to sign, or a ciphertext to decrypt.
  const uint8_t *input;
  // Bytes of input.
  size_t input_len;
  // Receives the signature or the message.
  uint8_t *output;
  // Bytes of output: at least the key's size.
  size_t output_capacity;
  // Set at the end: bytes of the result, 0 after an error.
  size_t output_len;
  // Set at the end: one of tollgate_code.
  int code;
  // Free for the caller.
  void *context;
} tollgate_operation;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the text of a code: one line, static, never NULL. tollgate_last_error() says more.
const char *tollgate_error_text(int code);

// Returns the text of this thread's last error: the failure, its place, and the next step, in one
// line. It is valid until the next error in this thread, and empty before the first one.
const char *tollgate_last_error(void);

// Returns the version of the library, such as "0.1.0".
const char *tollgate_version(void);

// Writes the digest of a message, of digest_len bytes: the length that the hash function gives.
int tollgate_digest(int hash,
                    const uint8_t *message,
                    size_t message_len,
                    uint8_t *digest,
                    size_t digest_len);

// Reads an unencrypted private key in DER: PKCS#8 or PKCS#1. Free it with
// tollgate_private_key_free().
int tollgate_private_key_from_der(const uint8_t *der,
                                  size_t der_len,
                                  struct tollgate_private_key **key);

// Reads an unencrypted private key in PEM, as tollgate_private_key_from_der(). Other text around
// the key is skipped. pem_len does not count a NUL at the end.
int tollgate_private_key_from_pem(const char *pem,
                                  size_t pem_len,
                                  struct tollgate_private_key **key);

// Returns the length of the modulus in bits, or 0 if key is no key.
size_t tollgate_private_key_bits(const struct tollgate_private_key *key);

// Returns the length in bytes of the modulus, of a signature and of a ciphertext, or 0 if key is
// no key.
size_t tollgate_private_key_size(const struct tollgate_private_key *key);

// Copies the public half. Free it with tollgate_public_key_free().
int tollgate_private_key_public(const struct tollgate_private_key *key,
                                struct tollgate_public_key **public_key);

// Frees a key and wipes its secrets, once no submitted operation uses it. NULL is ignored.
int tollgate_private_key_free(struct tollgate_private_key *key);

// Reads a public key in DER: SubjectPublicKeyInfo or PKCS#1. Free it with
// tollgate_public_key_free().
int tollgate_public_key_from_der(const uint8_t *der,
                                 size_t der_len,
                                 struct tollgate_public_key **key);

// Reads a public key in PEM, as tollgate_public_key_from_der(). Other text around the key is
// skipped. pem_len does not count a NUL at the end.
int tollgate_public_key_from_pem(const char *pem,
                                 size_t pem_len,
                                 struct tollgate_public_key **key);

// Returns the length of the modulus in bits, or 0 if key is no key.
size_t tollgate_public_key_bits(const struct tollgate_public_key *key);

// Returns the length in bytes of the modulus, of a signature and of a ciphertext, or 0 if key is
// no key.
size_t tollgate_public_key_size(const struct tollgate_public_key *key);

// Frees a key. NULL is ignored.
int tollgate_public_key_free(struct tollgate_public_key *key);

// Encrypts a message into a ciphertext of the key's size. The scheme is TOLLGATE_RSAES_OAEP or
// TOLLGATE_RSAES_PKCS1V15.
int tollgate_encrypt(const struct tollgate_public_key *key,
                     const struct tollgate_scheme *scheme,
                     const uint8_t *message,
                     size_t message_len,
                     uint8_t *ciphertext,
                     size_t ciphertext_len);

// Verifies a signature of a digest. The scheme is TOLLGATE_RSASSA_PKCS1V15 or TOLLGATE_RSASSA_PSS.
// Returns TOLLGATE_OK if the signature is valid, and TOLLGATE_SIGNATURE_INVALID if it is not.
int tollgate_verify(const struct tollgate_public_key *key,
                    const struct tollgate_scheme *scheme,
                    const uint8_t *digest,
                    size_t digest_len,
                    const uint8_t *signature,
                    size_t signature_len);

// Verifies any number of signatures, of any keys. Sets the code of each, and returns the first
// code that is not TOLLGATE_OK. Those of one key size share lanes.
int tollgate_verify_batch(struct tollgate_verification *verifications,
                          size_t count);

// Signs a digest. The scheme is TOLLGATE_RSASSA_PKCS1V15 or TOLLGATE_RSASSA_PSS, and signature_len
// the key's size.
int tollgate_sign(const struct tollgate_private_key *key,
                  const struct tollgate_scheme *scheme,
                  const uint8_t *digest,
                  size_t digest_len,
                  uint8_t *signature,
                  size_t signature_len);

// Decrypts a ciphertext of the key's size into message, which has at least the key's size too, and
// sets message_len. The scheme is TOLLGATE_RSAES_OAEP or TOLLGATE_RSAES_PKCS1V15. The message is
// secret: wipe it after use.
int tollgate_decrypt(const struct tollgate_private_key *key,
                     const struct tollgate_scheme *scheme,
                     const uint8_t *ciphertext,
                     size_t ciphertext_len,
                     uint8_t *message,
                     size_t message_capacity,
                     size_t *message_len);

// Runs any number of operations in this thread, with any keys, sizes and schemes. Operations of
// one key size share lanes, up to eight at a time; smaller numbers run in the cheapest way. Sets
// code and output_len of each operation, and returns the first code that is not TOLLGATE_OK.
int tollgate_run_batch(struct tollgate_operation *operations,
                       size_t count);

// Starts a queue. capacity is the number of operations that may wait or run, 0 for 256. One caller
// may have half of them: a tollgate_loop is a caller, and so are all other operations together.
//
// The queue has no threads: those that wait or run a loop do the work. linger_us_max is the
// longest time in microseconds that a batch waits for more operations, at most 10000; 0 is usual.
// Free the queue with tollgate_queue_free().
int tollgate_queue_start(size_t capacity,
                         uint32_t linger_us_max,
                         struct tollgate_queue **queue);

// Runs an operation and waits for it. Threads that wait at the same time share lanes. Returns the
// operation's code.
int tollgate_queue_run(const struct tollgate_queue *queue,
                       struct tollgate_operation *operation);

// Sets requests to the number of operations that the queue has run, and batches to the number of
// calls that ran them. Their ratio is the mean number of lanes in use.
int tollgate_queue_counts(const struct tollgate_queue *queue,
                          uint64_t *requests,
                          uint64_t *batches);

// Closes a queue: waits until all submitted operations have ended, at most a minute, and frees it.
// If some have not ended then, returns TOLLGATE_PENDING, and the queue stays: their memory is
// still in use, so call this function again. No other thread may be in a call with this queue.
// Loops stay valid, but accept no new operations. NULL is ignored.
int tollgate_queue_free(struct tollgate_queue *queue);

// Creates the operations of an event loop on a queue. Free it with tollgate_loop_free().
int tollgate_loop_new(const struct tollgate_queue *queue,
                      struct tollgate_loop **event_loop);

// Returns a descriptor that is readable while tollgate_loop_next() has something to do. Watch it
// for input with epoll or poll, and neither read nor close it. Returns -1 if event_loop is no
// loop.
int tollgate_loop_fd(const struct tollgate_loop *event_loop);

// Submits an operation and returns at once; tollgate_loop_next() returns it at its end.
int tollgate_loop_submit(const struct tollgate_loop *event_loop,
                         struct tollgate_operation *operation);

// Sets operation to one that is done, with its code and output_len set, or to NULL if there is
// none now: call it until then. This runs the operations that wait.
int tollgate_loop_next(const struct tollgate_loop *event_loop,
                       struct tollgate_operation **operation);

// Frees the operations of a loop. Those that are not done are cancelled: their structures and
// outputs stay unchanged. NULL is ignored.
int tollgate_loop_free(struct tollgate_loop *event_loop);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TOLLGATE_H */
