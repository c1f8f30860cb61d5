{{- /*
The files of secrets that the service reads, as a list: the Secret and its key, the path
below /run/secrets/drawsvc, and the variable that names the file.
*/}}
{{- define "drawsvc.files" -}}
{{- $v := .Values -}}
{{- if not $v.database.sqlite.enabled }}
{{ include "drawsvc.databaseFiles" (dict "of" $v.database "ca" $v.database.ca) }}
{{- end }}
{{- with $v.tokens.adminKey }}
- {secret: {{ $v.tokens.existingSecret }}, key: {{ . }}, path: admin-token, variable: DRAWSVC_ADMIN_TOKEN_FILE}
{{- end }}
{{- with $v.tokens.drawKey }}
- {secret: {{ $v.tokens.existingSecret }}, key: {{ . }}, path: draw-token, variable: DRAWSVC_DRAW_TOKEN_FILE}
{{- end }}
{{- with $v.tokens.fileKey }}
- {secret: {{ $v.tokens.existingSecret }}, key: {{ . }}, path: tokens.json, variable: DRAWSVC_TOKENS}
{{- end }}
{{- with $v.lock.existingSecret }}
- {secret: {{ . }}, key: {{ $v.lock.key }}, path: lock, variable: DRAWSVC_LOCK_FILE}
{{- end }}
{{ include "drawsvc.identityFile" . }}
{{- with $v.seeds.existingSecret }}
- {secret: {{ . }}, key: {{ $v.seeds.recipientsKey }}, path: seed-recipients, variable: DRAWSVC_SEED_RECIPIENTS}
{{- end }}
{{- with $v.tickets.existingSecret }}
- {secret: {{ . }}, key: {{ $v.tickets.key }}, path: ticket-keys, variable: DRAWSVC_TICKET_KEYS}
{{- end }}
{{- with $v.sealKeys.existingSecret }}
- {secret: {{ . }}, key: {{ $v.sealKeys.key }}, path: seal-keys, variable: DRAWSVC_SEAL_KEYS}
{{- end }}
{{- with $v.catalogue.existingSecret }}
- {secret: {{ . }}, key: {{ $v.catalogue.key }}, path: catalogue-url, variable: DRAWSVC_CATALOGUE_URL_FILE}
{{- end }}
{{- with $v.tls.existingSecret }}
- {secret: {{ . }}, key: {{ $v.tls.certKey }}, path: tls.crt, variable: DRAWSVC_TLS_CERT}
- {secret: {{ . }}, key: {{ $v.tls.keyKey }}, path: tls.key, variable: DRAWSVC_TLS_KEY}
{{- end }}
{{- with $v.tls.clientCA.existingSecret }}
- {secret: {{ . }}, key: {{ $v.tls.clientCA.key }}, path: tls-client-ca.crt, variable: DRAWSVC_TLS_CLIENT_CA}
{{- end }}
{{- end }}

{{- /* The URL of a database server, and the certificate of the authority that must have signed the server's. */}}
{{- define "drawsvc.databaseFiles" -}}
- {secret: {{ .of.existingSecret }}, key: {{ .of.key }}, path: database, variable: DRAWSVC_DATABASE_FILE}
{{- with .ca.existingSecret }}
- {secret: {{ . }}, key: {{ $.ca.key }}, path: ca/database.crt, variable: PGSSLROOTCERT}
{{- end }}
{{- end }}

{{- /* The identity that unseals the seeds of committed pools. */}}
{{- define "drawsvc.identityFile" -}}
{{- with .Values.seeds.existingSecret }}
- {secret: {{ . }}, key: {{ $.Values.seeds.identityKey }}, path: seed-identity, variable: DRAWSVC_SEED_IDENTITY_FILE}
{{- end }}
{{- end }}

{{- /* The variables that name files. */}}
{{- define "drawsvc.fileVariables" -}}
{{- range . }}
- {name: {{ .variable }}, value: /run/secrets/drawsvc/{{ .path }}}
{{- if eq .variable "PGSSLROOTCERT" }}
# MySQL's driver and webhooks read authorities from a folder. The authorities of the image stay valid.
- {name: SSL_CERT_DIR, value: /run/secrets/drawsvc/ca}
{{- end }}
{{- end }}
{{- end }}

{{- /* A volume of the files. Only the group of the pod can read them. */}}
{{- define "drawsvc.fileVolume" -}}
name: secrets
projected:
  defaultMode: 0440
  sources:
    {{- range . }}
    - secret: {name: {{ .secret }}, items: [{key: {{ .key }}, path: {{ .path }}}]}
    {{- end }}
{{- end }}
