package main

import (
	"encoding/json"
	"fmt"
)

// The transaction coordinator, for one transactional id (KIP-98, KIP-360, KIP-890).
//
//	init {} -> {epoch}                    a greater epoch than any before; what was open is aborted
//	add {epoch} -> {error}                partitions or offsets are added: the transaction is open
//	end {epoch, commit} -> {error, next}  it is committed or aborted; next: the epoch that follows, if told (KIP-890)
//	state {} -> {state}                   empty, ongoing, committed or aborted
//
// error: "" is success, "fenced" a newer epoch (or the coordinator gave an open transaction up), "state" nothing to end.
// An end may be repeated, by the epoch that ended it. A coordinator may end an open transaction at any time: that fences,
// or leaves nothing to end.
type transaction struct {
	epoch  int64
	ended  int64 // the epoch that ended the last transaction
	state  string
	fenced bool // somebody not told of in the history has a newer epoch
}

type transactionCall struct {
	f        string
	answered bool
	Epoch    int64  `json:"epoch"`
	Commit   bool   `json:"commit"`
	Error    string `json:"error"`
	Next     *int64 `json:"next"`
	State    string `json:"state"`
	granted  int64
}

func (c transactionCall) step(state interface{}) (bool, interface{}) {
	t := state.(transaction)
	switch c.f {
	case "init":
		if !c.answered {
			return true, transaction{t.epoch, -1, "empty", true}
		}
		return c.granted > t.epoch, transaction{c.granted, -1, "empty", false}
	case "state":
		return !c.answered || t.state == c.State, t
	}
	if c.Error == "fenced" {
		if c.Epoch < t.epoch || t.fenced {
			return true, t
		}
		return c.Epoch == t.epoch && t.state == "ongoing", transaction{t.epoch, -1, "aborted", true}
	}
	current := c.Epoch == t.epoch && !t.fenced
	if c.f == "add" {
		return current && c.Error == "", transaction{t.epoch, -1, "ongoing", false}
	}
	return c.end(t, current)
}

func (c transactionCall) end(t transaction, current bool) (bool, interface{}) {
	result := "aborted"
	if c.Commit {
		result = "committed"
	}
	again := t.ended == c.Epoch && t.state == result
	if c.Error != "" {
		return c.nothingToEnd(t, again)
	}
	if again && (!t.fenced || c.Next == nil) {
		return c.Next == nil || *c.Next == t.epoch, t
	}
	if !again && (!current || t.state != "ongoing") {
		return false, t
	}
	next := t.epoch
	if c.Next != nil {
		next = *c.Next
	}
	return next >= t.epoch, transaction{next, c.Epoch, result, false}
}

// An end was refused for the state of the transaction: never the same end again, always the other one.
func (c transactionCall) nothingToEnd(t transaction, again bool) (bool, interface{}) {
	if c.Error != "state" {
		return false, t
	}
	if c.Epoch == t.ended {
		return !again || t.fenced, t
	}
	if c.Epoch != t.epoch || t.fenced {
		return false, t
	}
	if t.state == "ongoing" {
		return true, transaction{c.Epoch, c.Epoch, "aborted", true}
	}
	return true, t
}

func (c transactionCall) String() string {
	answer := c.Error
	switch {
	case !c.answered:
		answer = "?"
	case answer == "":
		answer = "ok"
	}
	switch c.f {
	case "init":
		return fmt.Sprintf("init -> epoch %d", c.granted)
	case "state":
		return fmt.Sprintf("state -> %s", c.State)
	case "add":
		return fmt.Sprintf("add, epoch %d -> %s", c.Epoch, answer)
	}
	if c.Commit {
		return fmt.Sprintf("commit, epoch %d -> %s", c.Epoch, answer)
	}
	return fmt.Sprintf("abort, epoch %d -> %s", c.Epoch, answer)
}

func (t transaction) String() string {
	if t.fenced {
		return fmt.Sprintf("%s, later than epoch %d", t.state, t.epoch)
	}
	return fmt.Sprintf("%s, epoch %d", t.state, t.epoch)
}

func init() {
	machines["transaction"] = machine{
		start: func(json.RawMessage) (interface{}, error) { return transaction{-1, -1, "empty", false}, nil },
		read:  readTransaction,
		hash: func(state interface{}) uint64 {
			t := state.(transaction)
			return mix(t.epoch, t.ended) ^ mixText(t.state)
		},
	}
}

func readTransaction(f string, in, out json.RawMessage) (call, error) {
	c := transactionCall{f: f, answered: known(out)}
	if f != "init" && f != "add" && f != "end" && f != "state" {
		return nil, noSuchCall("transaction", f)
	}
	if err := decode(in, &c); err != nil {
		return nil, err
	}
	if f == "init" {
		var answer struct{ Epoch int64 }
		err := decode(out, &answer)
		c.granted = answer.Epoch
		return c, err
	}
	err := decode(out, &c)
	return c, err
}
