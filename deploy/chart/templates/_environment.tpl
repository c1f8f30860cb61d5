{{- /* The variables of `drawsvc serve`: secrets come from files, so that the environment contains none. */}}
{{- define "drawsvc.environment" -}}
- {name: DRAWSVC_LISTEN, value: "0.0.0.0:8080"}
- {name: DRAWSVC_METRICS_LISTEN, value: "0.0.0.0:{{ .Values.metrics.port }}"}
- {name: DRAWSVC_SHUTDOWN_DELAY, value: "{{ .Values.shutdownDelaySeconds }}s"}
{{- if .Values.database.sqlite.enabled }}
- {name: DRAWSVC_DATABASE, value: "sqlite:/var/lib/drawsvc/drawsvc.db"}
{{- end }}
{{- if .Values.tokens.publicDraw }}
- {name: DRAWSVC_PUBLIC_DRAW, value: "true"}
{{- end }}
{{- include "drawsvc.fileVariables" (include "drawsvc.files" . | fromYamlArray) }}
{{- range $flag, $value := .Values.settings }}
{{- /* Numbers in a file of values are floating-point: a million would be written as 1e+06. */}}
- {name: DRAWSVC_{{ $flag | upper | replace "-" "_" }}, value: {{ kindIs "float64" $value | ternary ($value | int64) $value | toString | quote }}}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
