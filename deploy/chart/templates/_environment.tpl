{{- /* The variables of `drawsvc serve`: secrets come from files, so that none is in the environment. */}}
{{- define "drawsvc.environment" -}}
- {name: DRAWSVC_LISTEN, value: "0.0.0.0:8080"}
- {name: DRAWSVC_METRICS_LISTEN, value: "0.0.0.0:{{ .Values.metrics.port }}"}
- {name: DRAWSVC_SHUTDOWN_DELAY, value: "{{ .Values.shutdownDelaySeconds }}s"}
{{- if .Values.database.sqlite.enabled }}
- {name: DRAWSVC_DATABASE, value: "sqlite:/var/lib/drawsvc/drawsvc.db"}
{{- else }}
- {name: DRAWSVC_DATABASE_FILE, value: /run/secrets/drawsvc/database}
{{- end }}
- {name: DRAWSVC_ADMIN_TOKEN_FILE, value: /run/secrets/drawsvc/admin-token}
{{- if .Values.tokens.drawKey }}
- {name: DRAWSVC_DRAW_TOKEN_FILE, value: /run/secrets/drawsvc/draw-token}
{{- end }}
{{- if .Values.tokens.publicDraw }}
- {name: DRAWSVC_PUBLIC_DRAW, value: "true"}
{{- end }}
{{- if .Values.lock.existingSecret }}
- {name: DRAWSVC_LOCK_FILE, value: /run/secrets/drawsvc/lock}
{{- end }}
{{- range $flag, $value := .Values.settings }}
{{- /* Numbers of a file of values are floating, and a million would be 1e+06. */}}
- {name: DRAWSVC_{{ $flag | upper | replace "-" "_" }}, value: {{ kindIs "float64" $value | ternary ($value | int64) $value | toString | quote }}}
{{- end }}
{{- end }}

{{- /* The files of these secrets. The group of the pod reads them, nobody else. */}}
{{- define "drawsvc.secrets" -}}
defaultMode: 0440
sources:
  {{- if not .Values.database.sqlite.enabled }}
  - secret:
      name: {{ .Values.database.existingSecret }}
      items: [{key: {{ .Values.database.key }}, path: database}]
  {{- end }}
  - secret:
      name: {{ .Values.tokens.existingSecret }}
      items:
        - {key: {{ .Values.tokens.adminKey }}, path: admin-token}
        {{- with .Values.tokens.drawKey }}
        - {key: {{ . }}, path: draw-token}
        {{- end }}
  {{- with .Values.lock.existingSecret }}
  - secret:
      name: {{ . }}
      items: [{key: {{ $.Values.lock.key }}, path: lock}]
  {{- end }}
{{- end }}
