import { appendFile } from "node:fs/promises";
import express from "express";

const secret = process.env.SECRET;
const app = express();
const save = (events) => appendFile(process.env.SAVED, events.map((event) => event.id + "\n").join(""));
//BLOCK
const [host, port] = process.env.LISTEN.split(":");
app.listen(Number(port), host);
