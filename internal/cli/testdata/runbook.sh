# Executed before the runbook: the service, the database and the files that its reader has.
openssl req -x509 -newkey rsa:2048 -nodes -days 10 -subj /CN=draws.example.org -keyout key.pem -out /run/secrets/tls.crt 2>/dev/null
drawsvc seal-key new --id k1 >/run/secrets/seal.keys
printf '{"tokens":[{"name":"shop","role":"draw","sha256":"%s","until":"2030-01-01T00:00:00Z"}]}' "$(printf token | sha256sum | cut -c1-64)" >/run/secrets/tokens.json
chmod 600 /run/secrets/*
drawsvc migrate up --database-file /run/secrets/database
drawsvc pool create spring --prize id=gold,stock=100 --database-file /run/secrets/database
DRAWSVC_ADMIN_TOKEN_FILE=/run/secrets/admin drawsvc serve --database-file /run/secrets/database --tokens /run/secrets/tokens.json \
    --seal-keys /run/secrets/seal.keys --hook-allow 127.0.0.0/8 --catalogue-url http://127.0.0.1:1/catalogue
drawsvc hook add http://127.0.0.1:1/hook --server http://127.0.0.1:8080 --token-file /run/secrets/admin
