"""Serves the files of www over TLS: one request for each connection."""

import socket
import ssl
import sys
import threading


def serve(context, connection):
    connection.settimeout(10)
    try:
        with context.wrap_socket(connection, server_side=True) as stream:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = stream.recv(4096)
                if not piece or len(head) > 8192:
                    return
                head += piece
            bytes_asked = int(head.split()[1].removeprefix(b"/bytes/"))
            with open(f"www/bytes/{bytes_asked}", "rb") as file:
                body = file.read()
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    except (OSError, ValueError):
        pass  # the client closed, or asked for a missing file


def main():
    address, port, ciphers = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    context.load_cert_chain("chain.pem", "key.pem")
    listener = socket.create_server((address, int(port)), backlog=128)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(context, connection), daemon=True).start()


main()
