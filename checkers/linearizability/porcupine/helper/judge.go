package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// judge answers one history: the verdict first, and only then, if something is wrong and it was asked for, the search
// that remembers how far it came, which takes longer.
func judge(h *history, guard *guard) (answer, error) {
	begin := time.Now()
	var steps int64
	model := h.model(&steps, guard)
	result := porcupine.CheckOperationsTimeout(model, h.ops, h.timeout())
	a := answer{Proto: protocol, ID: h.ID, Ops: len(h.ops), Engine: engine()}
	switch full := guard.tripped(); {
	case result == porcupine.Ok:
		a.Verdict = "ok"
	case result == porcupine.Illegal && !full:
		a.Verdict = "illegal"
	case full:
		a.unknown("memory")
	default:
		a.unknown("timeout")
	}
	if h.Want != "" && h.Want != "verdict" && a.Verdict != "unknown" {
		if err := h.explain(&a, model, guard); err != nil {
			return a, err
		}
	}
	a.Steps = atomic.LoadInt64(&steps)
	a.Ms = time.Since(begin).Milliseconds()
	guard.reset()
	return a, nil
}

func (a *answer) unknown(reason string) {
	a.Verdict, a.Reason = "unknown", &reason
}

// explain fills in how far the search came, and draws it. Its own search may run out of time: the verdict stays.
func (h *history) explain(a *answer, model porcupine.Model, guard *guard) error {
	result, info := porcupine.CheckOperationsVerbose(model, h.ops, h.timeout())
	if result == porcupine.Unknown || guard.tripped() {
		return nil
	}
	a.Prefix, a.Blocked = h.reach(info)
	if h.Want != "html" {
		return nil
	}
	var marks []porcupine.Annotation
	for _, m := range h.Annotate {
		marks = append(marks, porcupine.Annotation{
			Tag: m.Tag, Start: m.Begin, End: m.End, Description: m.Text, Details: m.Details, BackgroundColor: m.Colour,
		})
	}
	info.AddAnnotations(marks)
	return porcupine.VisualizePath(model, info, h.HTML)
}

// reach names the operations of the longest legal sequence in the part that has the most operations left over, and
// those that might come next by their times.
func (h *history) reach(info porcupine.LinearizationInfo) (prefix, blocked []int64) {
	for _, sequences := range info.PartialLinearizationsOperations() {
		for _, sequence := range sequences {
			if len(sequence) > len(prefix) {
				prefix = prefix[:0]
				for _, o := range sequence {
					prefix = append(prefix, o.Metadata.(note).id)
				}
			}
		}
	}
	done := map[int64]bool{}
	for _, id := range prefix {
		done[id] = true
	}
	soonest := int64(1<<63 - 1)
	for _, o := range h.ops {
		if !done[o.Metadata.(note).id] {
			soonest = min64(soonest, o.Return)
		}
	}
	for _, o := range h.ops {
		if id := o.Metadata.(note).id; !done[id] && o.Call <= soonest {
			blocked = append(blocked, id)
		}
	}
	return prefix, blocked
}

// model turns the machine into what porcupine searches. Where an operation may be without effect
// every state is a set, unless the machine does without.
func (h *history) model(steps *int64, guard *guard) porcupine.Model {
	step := func(state, input, _ interface{}) (bool, interface{}) {
		atomic.AddInt64(steps, 1)
		if guard.tripped() {
			return false, state
		}
		return input.(call).step(state)
	}
	start := func() interface{} {
		state, _ := h.machine.start(h.Init)
		return state
	}
	describe := func(input, _ interface{}) string { return input.(call).String() }
	remark := func(about interface{}) string { return about.(note).text }
	if !h.forks {
		return porcupine.Model{
			Init: start, Step: step, Hash: h.machine.hash, Partition: h.partition(),
			DescribeOperation: describe, DescribeOperationMetadata: remark, DescribeState: show,
		}
	}
	branching := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{start()} },
		Step: func(state, input, output interface{}) []interface{} {
			var after []interface{}
			if _, may := input.(perhaps); may {
				after = append(after, state)
			}
			if ok, next := step(state, input, output); ok {
				after = append(after, next)
			}
			return after
		},
		Hash: h.machine.hash, Partition: h.partition(),
		DescribeOperation: describe, DescribeOperationMetadata: remark, DescribeState: show,
	}
	return branching.ToModel()
}

func show(state interface{}) string { return fmt.Sprint(state) }

// partition splits the operations by the part of the object that they are about, in the order of their first one.
func (h *history) partition() func([]porcupine.Operation) [][]porcupine.Operation {
	if h.machine.part == nil {
		return nil
	}
	return func(all []porcupine.Operation) [][]porcupine.Operation {
		place := map[string]int{}
		var parts [][]porcupine.Operation
		for _, o := range all {
			key := h.machine.part(bare(o.Input.(call)))
			if _, seen := place[key]; !seen {
				place[key] = len(parts)
				parts = append(parts, nil)
			}
			parts[place[key]] = append(parts[place[key]], o)
		}
		return parts
	}
}

func bare(c call) call {
	if p, may := c.(perhaps); may {
		return p.call
	}
	return c
}
