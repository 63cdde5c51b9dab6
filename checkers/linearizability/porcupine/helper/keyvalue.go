package main

import (
	"encoding/json"
	"fmt"
)

// A map of texts to texts, each at first empty. Keys are independent of each other.
//
//	get {key} -> {value}
//	put {key, value} -> {}
//	append {key, value} -> {}
type keyCall struct {
	f      string
	Key    string `json:"key"`
	Value  string `json:"value"`
	answer *string
}

func (c keyCall) step(state interface{}) (bool, interface{}) {
	switch c.f {
	case "get":
		return c.answer == nil || *c.answer == state.(string), state
	case "put":
		return true, c.Value
	default:
		return true, state.(string) + c.Value
	}
}

func (c keyCall) String() string {
	if c.f != "get" {
		return fmt.Sprintf("%s %q %q", c.f, c.Key, c.Value)
	}
	if c.answer == nil {
		return fmt.Sprintf("get %q -> ?", c.Key)
	}
	return fmt.Sprintf("get %q -> %q", c.Key, *c.answer)
}

func init() {
	machines["key-value"] = machine{
		start: func(json.RawMessage) (interface{}, error) { return "", nil },
		read:  readKey,
		late:  true,
		hash:  func(state interface{}) uint64 { return mixText(state.(string)) },
		part:  func(c call) string { return c.(keyCall).Key },
	}
}

func readKey(f string, in, out json.RawMessage) (call, error) {
	c := keyCall{f: f}
	if f != "get" && f != "put" && f != "append" {
		return nil, noSuchCall("key-value", f)
	}
	if err := decode(in, &c); err != nil {
		return nil, err
	}
	var answer struct{ Value *string }
	err := decode(out, &answer)
	c.answer = answer.Value
	return c, err
}
