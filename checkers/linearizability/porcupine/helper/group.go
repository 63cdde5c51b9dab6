package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// The group coordinator of the classic protocol, for one group.
//
//	join {member} -> {generation}              the generation that the member is in; it only grows
//	sync {member, generation} -> {error}       asks for its share
//	heartbeat {member, generation} -> {error}  also any commit that names its generation
//	leave {member} -> {error}
//
// error: "" is success, "generation" that another one is current, "member" that the group does not know it,
// "rebalance" that the next one is being formed. A session may end at any time: the member is then unknown.
type group struct {
	generation int64
	members    string // sorted, each followed by a newline
}

type groupCall struct {
	f          string
	answered   bool
	Member     string `json:"member"`
	Generation int64  `json:"generation"`
	Error      string `json:"error"`
	granted    int64
}

func (g group) has(member string) bool {
	return strings.Contains("\n"+g.members, "\n"+member+"\n")
}

func (g group) with(member string) group {
	if g.has(member) {
		return g
	}
	all := append(strings.SplitAfter(g.members, "\n"), member+"\n")
	sort.Strings(all)
	return group{g.generation, strings.Join(all, "")}
}

func (g group) without(member string) group {
	kept := strings.Replace("\n"+g.members, "\n"+member+"\n", "\n", 1)
	return group{g.generation, kept[1:]}
}

func (c groupCall) step(state interface{}) (bool, interface{}) {
	g := state.(group)
	switch {
	case c.f == "join" && !c.answered:
		return true, group{g.generation + 1, c.Member + "\n"}
	case c.f == "join" && c.granted > g.generation:
		return true, group{c.granted, c.Member + "\n"}
	case c.f == "join":
		return c.granted == g.generation, g.with(c.Member)
	case c.Error == "member":
		return true, g.without(c.Member)
	case c.f == "leave":
		return c.Error == "" && g.has(c.Member), g.without(c.Member)
	case c.Error == "generation":
		return c.Generation != g.generation, g
	default:
		return c.Generation == g.generation && g.has(c.Member), g
	}
}

func (c groupCall) String() string {
	answer := c.Error
	switch {
	case !c.answered:
		answer = "?"
	case answer == "":
		answer = "ok"
	}
	switch c.f {
	case "join":
		return fmt.Sprintf("%s joins -> generation %d", c.Member, c.granted)
	case "leave":
		return fmt.Sprintf("%s leaves -> %s", c.Member, answer)
	default:
		return fmt.Sprintf("%s, generation %d: %s -> %s", c.Member, c.Generation, c.f, answer)
	}
}

func (g group) String() string {
	return fmt.Sprintf("generation %d: %s", g.generation, strings.ReplaceAll(strings.TrimSpace(g.members), "\n", ", "))
}

func init() {
	machines["group"] = machine{
		start: func(json.RawMessage) (interface{}, error) { return group{}, nil },
		read:  readGroup,
		hash: func(state interface{}) uint64 {
			g := state.(group)
			return mix(g.generation) ^ mixText(g.members)
		},
	}
}

func readGroup(f string, in, out json.RawMessage) (call, error) {
	c := groupCall{f: f, answered: known(out)}
	if f != "join" && f != "sync" && f != "heartbeat" && f != "leave" {
		return nil, noSuchCall("group", f)
	}
	if err := decode(in, &c); err != nil {
		return nil, err
	}
	if f == "join" {
		var answer struct{ Generation int64 }
		err := decode(out, &answer)
		c.granted = answer.Generation
		return c, err
	}
	err := decode(out, &c)
	return c, err
}
