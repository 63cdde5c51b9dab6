package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// protocol is the version of the lines below. A helper of another version refuses them.
const protocol = 1

// A request is the header line of one history; as many operation lines follow as it declares.
type request struct {
	Proto     int             `json:"proto"`
	ID        string          `json:"id"`
	Model     string          `json:"model"`
	Ops       int             `json:"ops"`
	TimeoutMs int64           `json:"timeout_ms"`
	Want      string          `json:"want"` // verdict, partials or html
	HTML      string          `json:"html"` // where the picture goes
	Init      json.RawMessage `json:"init"`
	Annotate  []annotation    `json:"annotate"`
	Expect    string          `json:"expect"` // of golden vectors
}

// An annotation is a fault window, or whatever else the picture shall show beside the clients.
type annotation struct {
	Tag     string `json:"tag"`
	Begin   int64  `json:"begin"`
	End     int64  `json:"end"`
	Text    string `json:"text"`
	Details string `json:"details"`
	Colour  string `json:"colour"`
}

// An operation line. call null: before everything; ret null: never returned; out null as well: perhaps without effect.
type operation struct {
	I      int64           `json:"i"`
	Client int             `json:"client"`
	Call   *int64          `json:"call"`
	Ret    *int64          `json:"ret"`
	F      string          `json:"f"`
	In     json.RawMessage `json:"in"`
	Out    json.RawMessage `json:"out"`
	Note   string          `json:"note"`
}

// An answer is the one line that a history gets.
type answer struct {
	Proto   int     `json:"proto"`
	ID      string  `json:"id"`
	Verdict string  `json:"verdict"` // ok, illegal or unknown
	Reason  *string `json:"reason"`  // of unknown: timeout or memory
	Ms      int64   `json:"ms"`
	Ops     int     `json:"ops"`
	Steps   int64   `json:"steps"`
	Prefix  []int64 `json:"prefix,omitempty"`  // the longest sequence that is legal
	Blocked []int64 `json:"blocked,omitempty"` // what may come next by its times, and is not legal there
	Engine  string  `json:"engine"`
}

// A history is a request that has been read whole.
type history struct {
	request
	machine machine
	ops     []porcupine.Operation
	forks   bool // some operation may be without effect, and states have to be sets
}

// note is what an operation carries beside its call: who it is, and what the picture says about it.
type note struct {
	id   int64
	text string
}

// perhaps is a call of which nobody knows whether it took effect.
type perhaps struct{ call }

func (p perhaps) String() string { return p.call.String() + " (unknown)" }

// next reads one history. io.EOF: there is none.
func next(lines *json.Decoder) (*history, error) {
	var h history
	lines.DisallowUnknownFields()
	if err := lines.Decode(&h.request); err != nil {
		return nil, err
	}
	known, found := machines[h.Model]
	switch {
	case h.Proto != protocol:
		return nil, fmt.Errorf("history %q speaks protocol %d, this helper %d", h.ID, h.Proto, protocol)
	case !found:
		return nil, fmt.Errorf("history %q names the model %q; there are %s", h.ID, h.Model, names())
	case h.Ops < 1:
		return nil, fmt.Errorf("history %q is empty: nothing can be said of it", h.ID)
	}
	h.machine = known
	raw := make([]operation, h.Ops)
	for i := range raw {
		if err := lines.Decode(&raw[i]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("history %q declares %d operations, number %d: %w", h.ID, h.Ops, i+1, err)
		}
	}
	return &h, h.fill(raw)
}

func (h *history) fill(raw []operation) error {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, o := range raw {
		for _, at := range []*int64{o.Call, o.Ret} {
			if at != nil {
				first, last = min64(first, *at), max64(last, *at)
			}
		}
	}
	for _, o := range raw {
		c, err := h.machine.read(o.F, o.In, o.Out)
		if err != nil {
			return fmt.Errorf("history %q, operation %d: %w", h.ID, o.I, err)
		}
		if o.Ret == nil && !known(o.Out) {
			c = perhaps{c}
			h.forks = h.forks || !h.machine.late
		}
		call, ret := first-1, last+1
		if o.Call != nil {
			call = *o.Call
		}
		if o.Ret != nil {
			ret = *o.Ret
		}
		if call > ret {
			return fmt.Errorf("history %q, operation %d returned before it was called", h.ID, o.I)
		}
		h.ops = append(h.ops, porcupine.Operation{
			ClientId: o.Client, Input: c, Call: call, Return: ret, Metadata: note{o.I, o.Note},
		})
	}
	return nil
}

func (h *history) timeout() time.Duration {
	return time.Duration(h.TimeoutMs) * time.Millisecond
}

func min64(a, b int64) int64 {
	if a < b {
		return a
	}
	return b
}

func max64(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}
