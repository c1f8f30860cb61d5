-- Draws from a service: wrk -s draw.lua URL -- NAME=VALUE …
--
--   pool=ID         the pool, default bench
--   pools=N         instead, a random pool from ID-1 to ID-N
--   count=N         units per draw, default 1
--   keys=random     a random Idempotency-Key (UUIDv4) on every request
--   keys=ordered    an Idempotency-Key that rises with time (UUIDv7)
--   users=new       a new user on every request
--   users=N         a random user, one of N
--   seed=N          seed of keys and pools; no two runs may share one
--   token=TOKEN     bearer token
--   also=PORT,PORT  further instances: thread n talks to the n-th port
--
-- If all requests are the same, the request is built only once. The last printed
-- line is the result as JSON, with times in microseconds.

local threads = {}

-- Runs once per thread, in the main state.
function setup(thread)
   table.insert(threads, thread)
   thread:set("number", #threads)
end

local function read(args)
   local options = { pool = "bench", count = "1", seed = "1", pools = "0" }
   for _, text in ipairs(args) do
      local name, value = text:match("^(%w+)=(.*)$")
      if not name then error("draw.lua: what is " .. text .. "?") end
      options[name] = value
   end
   return options
end

local function body(pool, count, user)
   return '{"pool":"' .. pool .. '","user":"' .. (user or "user-12345") .. '","count":' .. count .. '}'
end

local keys = {}

function keys.random()
   return string.format("%08x-%04x-4%03x-%04x-%04x%08x", math.random(0, 2^32 - 1), math.random(0, 65535),
      math.random(0, 4095), math.random(32768, 49151), math.random(0, 65535), math.random(0, 2^32 - 1))
end

local ffi = require("ffi")
ffi.cdef("typedef struct { long s, us; } moment; int gettimeofday(moment *now, void *zone);")
local now = ffi.new("moment")

function keys.ordered()
   ffi.C.gettimeofday(now, nil)
   local ms = tonumber(now.s) * 1000 + math.floor(tonumber(now.us) / 1000)
   return string.format("%08x-%04x-7%03x-%04x-%04x%08x", math.floor(ms / 65536), ms % 65536,
      math.random(0, 4095), math.random(32768, 49151), math.random(0, 65535), math.random(0, 2^32 - 1))
end

-- Cuts a request into three, at the marks of the key and of the user.
local function cut(text, key, user)
   local parts = { text, "", "" }
   if key then
      local from, to = text:find(key, 1, true)
      parts = { text:sub(1, from - 1), text:sub(to + 1), "" }
   end
   if user then
      local last = key and 2 or 1
      local from, to = parts[last]:find(user, 1, true)
      parts[3] = parts[last]:sub(to + 1)
      parts[last] = parts[last]:sub(1, from - 1)
   end
   return parts
end

-- Runs once in each thread.
function init(args)
   local o = read(args)
   math.randomseed(tonumber(o.seed) * 64 + number)
   wrk.method, wrk.path = "POST", "/draw"
   wrk.headers["Content-Type"] = "application/json"
   if o.token then wrk.headers["Authorization"] = "Bearer " .. o.token end
   wrk.body = body(o.pool, o.count)
   local ports = {}
   for port in (o.also or ""):gmatch("%d+") do table.insert(ports, port) end
   if ports[number - 1] then
      wrk.thread.addr = wrk.lookup(wrk.host, ports[number - 1])[1]
   end
   local pools, prepared = tonumber(o.pools), {}
   if pools == 0 and not o.keys and not o.users then return end

   -- The request is cut at the places of the key and of the user, so that each
   -- request only joins strings. Keys have a constant length, and so have users.
   local marks = { key = "the-key-goes-here", user = "the-user-go" }
   local key = o.keys and keys[o.keys]
   if o.keys and not key then error("draw.lua: what are keys " .. o.keys .. "?") end
   if key then wrk.headers["Idempotency-Key"] = marks.key end
   local most = o.users == "new" and 10 ^ 11 or tonumber(o.users)
   for n = 1, math.max(pools, 1) do
      wrk.body = body(pools > 0 and o.pool .. "-" .. n or o.pool, o.count, most and marks.user)
      prepared[n] = cut(wrk.format(), key and marks.key, most and marks.user)
   end
   local last = #prepared
   request = function()
      local p = prepared[last == 1 and 1 or math.random(last)]
      if not key and not most then return p[1] end
      return p[1] .. (key and key() or "") .. p[2] .. (most and string.format("%011d", math.random(0, most - 1)) or "") .. p[3]
   end
end

function done(summary, latency, requests)
   local e = summary.errors
   io.write(string.format(
      '{"requests":%d,"duration":%d,"bytes":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,' ..
      '"p50":%d,"p90":%d,"p99":%d,"p999":%d,"max":%d}\n',
      summary.requests, summary.duration, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout,
      latency:percentile(50), latency:percentile(90), latency:percentile(99), latency:percentile(99.9), latency.max))
end
