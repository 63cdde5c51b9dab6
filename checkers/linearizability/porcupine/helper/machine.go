package main

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sort"
	"strings"
)

// A call is one operation as its machine understands it: what was asked and what was answered.
type call interface {
	// step says whether the answer is right in this state, and which state follows. It changes nothing.
	step(state interface{}) (bool, interface{})
	String() string
}

// A machine is the sequential specification of one object. States must be comparable with ==.
type machine struct {
	start func(init json.RawMessage) (interface{}, error)
	read  func(f string, in, out json.RawMessage) (call, error)
	hash  func(state interface{}) uint64
	// part names the independent part of the object that a call is about; nil: it has only one.
	part func(call) string
	// late says that an unknown operation is always possible, so that one without effect is one after everything. Where
	// many orders lead to few states that is found sooner than by keeping sets of states.
	late bool
}

// machines holds every specification by name. A file of your own in this package adds to it from an init function.
var machines = map[string]machine{}

var seed = maphash.MakeSeed()

func mix(numbers ...int64) uint64 {
	var h uint64 = 0x9e3779b97f4a7c15
	for _, n := range numbers {
		h ^= uint64(n)
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
	}
	return h
}

func mixText(text string) uint64 {
	return maphash.String(seed, text)
}

// decode reads a JSON object into a struct and refuses fields that it does not know.
func decode(raw json.RawMessage, into interface{}) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	reader := json.NewDecoder(strings.NewReader(string(raw)))
	reader.DisallowUnknownFields()
	return reader.Decode(into)
}

// known says whether an operation was answered: without an answer its effect is unknown.
func known(out json.RawMessage) bool {
	return len(out) > 0 && string(out) != "null"
}

func noSuchCall(model, f string) error {
	return fmt.Errorf("the model %s has no operation %q", model, f)
}

func names() string {
	all := make([]string, 0, len(machines))
	for name := range machines {
		all = append(all, name)
	}
	sort.Strings(all)
	return strings.Join(all, ", ")
}
