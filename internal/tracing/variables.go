package tracing

import (
	"cmp"
	"os"
	"strings"
)

// These variables determine whether traces are sent, and how. The SDK reads all others.
const (
	disabledVariable       = "OTEL_SDK_DISABLED"
	exporterVariable       = "OTEL_TRACES_EXPORTER"
	endpointVariable       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpointVariable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolVariable       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocolVariable = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

const (
	exporterNone = "none"
	exporterOTLP = "otlp"
	protocolGRPC = "grpc"
)

// wanted returns the exporter that the environment names, exporterNone for none. In the
// specification otlp is the default. Here an exporter or an endpoint must be named, so
// that nothing is sent without being requested.
func wanted() string {
	if strings.EqualFold(variable(disabledVariable), "true") {
		return exporterNone
	}
	if name := variable(exporterVariable); name != "" {
		return strings.ToLower(name)
	}
	if variable(endpointVariable) != "" || variable(tracesEndpointVariable) != "" {
		return exporterOTLP
	}
	return exporterNone
}

// protocol returns the protocol of the otlp exporter.
func protocol() string {
	return cmp.Or(variable(tracesProtocolVariable), variable(protocolVariable), "http/protobuf")
}

// variable returns a variable's value; an empty value counts as none.
func variable(name string) string { return strings.TrimSpace(os.Getenv(name)) }
