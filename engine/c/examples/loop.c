// An event loop that signs: each client sends a digest on a socket and gets the signature back.
// The clients are in this process: the other ends of socket pairs, each with one request at a time.
//
//   cc -O2 loop.c -o loop $(pkg-config --cflags --libs tollgate)
//   ./loop KEY.pem [CLIENTS] [SECONDS]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <tollgate.h>
#include <unistd.h>

enum { CLIENTS_MAX = 100, DIGEST = 32, SIZE = 1024, EVENTS = 64 };

struct connection {
  int socket;
  int client;
  unsigned char digest[DIGEST];
  unsigned char signature[SIZE];
  tollgate_operation operation;
};

static struct connection connections[CLIENTS_MAX];
static unsigned long long answers;

static void check(int is_good, const char *what) {
  if (!is_good) {
    fprintf(stderr, "loop: %s: %s\n", what, tollgate_last_error());
    exit(2);
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// The client's part: takes the last answer and sends the next digest.
static void ask(struct connection *connection) {
  unsigned char answer[SIZE];
  const unsigned char next = (unsigned char)answers++;
  if (connection->operation.output_len > 0) {
    check(read(connection->client, answer, sizeof answer) > 0, "read an answer");
  }
  memset(connection->digest, next, DIGEST);
  check(write(connection->client, connection->digest, DIGEST) == DIGEST, "write a request");
}

static tollgate_private_key *read_key(const char *path) {
  static char pem[1 << 16];
  tollgate_private_key *key;
  FILE *file = fopen(path, "rb");
  check(file != NULL, path);
  size_t len = fread(pem, 1, sizeof pem, file);
  fclose(file);
  check(tollgate_private_key_from_pem(pem, len, &key) == TOLLGATE_OK, "read the key");
  return key;
}

static void watch(int epoll, int descriptor, void *data) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};
  check(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0, "watch a descriptor");
}

int main(int argc, char **argv) {
  const tollgate_scheme scheme = {.kind = TOLLGATE_RSASSA_PKCS1V15, .hash = TOLLGATE_SHA256};
  struct epoll_event events[EVENTS];
  tollgate_queue *queue;
  tollgate_loop *loop;
  tollgate_operation *done;

  int clients = argc > 2 ? atoi(argv[2]) : 64;
  double seconds = argc > 3 ? atof(argv[3]) : 1;
  if (argc < 2 || clients < 1 || clients > CLIENTS_MAX) {
    fprintf(stderr, "usage: loop KEY.pem [CLIENTS, at most %d] [SECONDS]\n", CLIENTS_MAX);
    return 2;
  }
  tollgate_private_key *key = read_key(argv[1]);
  check(tollgate_queue_start(0, 0, &queue) == TOLLGATE_OK, "start the queue");
  check(tollgate_loop_new(queue, &loop) == TOLLGATE_OK, "make the loop");

  int epoll = epoll_create1(0);
  watch(epoll, tollgate_loop_fd(loop), NULL);
  for (int i = 0; i < clients; i++) {
    struct connection *connection = &connections[i];
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "open sockets");
    connection->socket = ends[0];
    connection->client = ends[1];
    connection->operation = (tollgate_operation){
        .key = key,
        .scheme = &scheme,
        .input = connection->digest,
        .input_len = DIGEST,
        .output = connection->signature,
        .output_capacity = SIZE,
        .context = connection,
    };
    watch(epoll, ends[0], connection);
    ask(connection);
  }

  double start = now(), elapsed = 0;
  answers = 0;
  while ((elapsed = now() - start) < seconds) {
    int count = epoll_wait(epoll, events, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      struct connection *connection = events[i].data.ptr;
      if (connection != NULL) {
        check(read(connection->socket, connection->digest, DIGEST) == DIGEST, "read a request");
        check(tollgate_loop_submit(loop, &connection->operation) == TOLLGATE_OK, "submit");
        continue;
      }
      while (tollgate_loop_next(loop, &done) == TOLLGATE_OK && done != NULL) {
        check(done->code == TOLLGATE_OK, "sign");
        connection = done->context;
        check(write(connection->socket, done->output, done->output_len) > 0, "write an answer");
        ask(connection);
      }
    }
  }
  uint64_t requests, batches;
  check(tollgate_queue_counts(queue, &requests, &batches) == TOLLGATE_OK, "count");
  printf("%d clients: %.0f signatures/s, %.2f in a batch\n", clients, (double)answers / elapsed,
         (double)requests / (double)batches);

  tollgate_loop_free(loop);
  tollgate_queue_free(queue);
  tollgate_private_key_free(key);
  return 0;
}
