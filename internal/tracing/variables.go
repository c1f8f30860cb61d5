package tracing

import (
	"cmp"
	"os"
	"strings"
)

// The variables that say whether there are traces, and how they are sent. All
// others are the SDK's to read.
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

// wanted is the exporter that the environment asks for, exporterNone for none. By
// the specification otlp is the default everywhere; here somebody must have
// named an exporter or an endpoint, because nothing is sent unasked.
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

// protocol is how the otlp exporter speaks.
func protocol() string {
	return cmp.Or(variable(tracesProtocolVariable), variable(protocolVariable), "http/protobuf")
}

// variable is a variable's value; an empty one is as none.
func variable(name string) string { return strings.TrimSpace(os.Getenv(name)) }
