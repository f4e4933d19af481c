// Prints the body of an URL. The server's certificate is not checked.
package main

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := (&http.Client{Transport: transport}).Get(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}
