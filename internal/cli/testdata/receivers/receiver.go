package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"

	"drawsvc/client"
)

func save(body []byte) {
	var message struct {
		Data struct{ Events []struct{ ID string } }
	}
	if err := json.Unmarshal(body, &message); err != nil {
		panic(err)
	}
	file, err := os.OpenFile(os.Getenv("SAVED"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	for _, event := range message.Data.Events {
		if _, err := file.WriteString(event.ID + "\n"); err != nil {
			panic(err)
		}
	}
	_ = file.Close()
}

func main() {
	secret := os.Getenv("SECRET")
	//BLOCK
	panic(http.ListenAndServe(os.Getenv("LISTEN"), nil))
}
