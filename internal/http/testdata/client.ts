// A caller as it would be written on the types that openapi-typescript makes of openapi.yaml.
import createClient from "openapi-fetch";
import type { paths } from "./api";

// The second type leaves CSV and NDJSON out: those are for exports.
const client = createClient<paths, "application/json" | "application/problem+json">({ baseUrl: "http://127.0.0.1:8080" });

export async function draw(pool: string, user: string, key: string): Promise<string> {
  const { data, error } = await client.POST("/draw", {
    params: { header: { "Idempotency-Key": key } },
    body: { pool, user },
  });
  if (error) return `${error.code}: ${error.detail}`;
  return data.awards.map((award) => `${award.prize} ${award.unit} ${award.win}`).join();
}

export async function awards(pool: string, after: number): Promise<number | null | undefined> {
  const { data } = await client.GET("/admin/pools/{pool}/awards", { params: { path: { pool }, query: { after, limit: 100 } } });
  data?.awards.forEach((award) => console.log(award.version, award.user, award.prize));
  return data?.next;
}

export async function moves(pool: string): Promise<number | null | undefined> {
  const { data } = await client.GET("/admin/pools/{pool}/moves", { params: { path: { pool } } });
  data?.moves.forEach((move) => console.log(move.version, move.prize, move.delta));
  return data?.next;
}

export async function log(pool: string): Promise<number | null | undefined> {
  const { data } = await client.GET("/admin/pools/{pool}/log", { params: { path: { pool } } });
  data?.entries.forEach((entry) => console.log(entry.kind, entry.version));
  return data?.next;
}

export async function mine(pool: string, user: string): Promise<number | null | undefined> {
  const { data } = await client.GET("/pools/{pool}/users/{user}/awards", { params: { path: { pool, user } } });
  data?.awards.forEach((award) => console.log(award.prize));
  return data?.next;
}

export async function agenda(pool: string): Promise<number | null | undefined> {
  const { data } = await client.GET("/admin/pools/{pool}/agenda", { params: { path: { pool } } });
  data?.items.forEach((line) => ("hidden" in line ? console.log(line.hidden.prize, line.hidden.count) : console.log(line.item, line.at)));
  return data?.next;
}
