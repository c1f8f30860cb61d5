import os

from flask import Flask, request

secret = os.environ["SECRET"]
app = Flask("receiver")


def save(events):
    with open(os.environ["SAVED"], "a") as file:
        file.writelines(event["id"] + "\n" for event in events)


#BLOCK
host, port = os.environ["LISTEN"].split(":")
app.run(host, int(port))
