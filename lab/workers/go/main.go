// The worker of the Go implementations: it performs and times their operations for the lab, as
// lab/workers/PROTOCOL.md defines.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	name := "go"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	if err := newWorker(name, os.Stdin, os.Stdout, variantsOf(name)).serve(); err != nil {
		fmt.Fprintln(os.Stderr, "worker go:", err)
		os.Exit(1)
	}
}

// variantsOf are all of the worker `go`. One of another name is built by another toolchain than the
// installed one, for the sake of its standard library: it has that alone, marked by its name.
func variantsOf(name string) []variant {
	standard := slices.Concat(filippoVariants(), standardKemVariants())
	if name == "go" {
		return slices.Concat(standard, circlVariants(), circlKemVariants(), circlSlhVariants())
	}
	for i := range standard {
		standard[i].backend += "+" + name
	}
	return standard
}

// goVersion is that of the toolchain and its standard library.
func goVersion() string {
	return strings.TrimPrefix(runtime.Version(), "go")
}

// moduleVersion is the version of a module that this program was built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path != path {
			continue
		}
		if module.Replace != nil {
			return strings.TrimPrefix(module.Replace.Version, "v") + "+replaced"
		}
		return strings.TrimPrefix(module.Version, "v")
	}
	return "unknown"
}

func compiler() string {
	return runtime.Version() + " " + runtime.Compiler
}

// buildFlags are the settings of the build that can change the code's speed.
func buildFlags() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	var flags []string
	for _, setting := range info.Settings {
		switch setting.Key {
		case "-gcflags", "-ldflags", "-tags", "-race", "-asan", "-msan", "-pgo", "-trimpath",
			"CGO_ENABLED", "GOEXPERIMENT", "GOFIPS140", "GOOS", "GOARCH", "GO386", "GOAMD64", "GOARM",
			"GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM":
			flags = append(flags, setting.Key+"="+setting.Value)
		}
	}
	for _, variable := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
		if value, ok := os.LookupEnv(variable); ok {
			flags = append(flags, variable+"="+value)
		}
	}
	return strings.Join(strings.Fields(strings.Join(flags, " ")), " ")
}
