package main

import (
	"encoding/json"
	"fmt"
)

// Who owns a partition in a group. The epoch (generation, assignment epoch) only grows, and has one owner.
//
//	hold {member, epoch} -> {}   an answer that shows `member` as the owner in `epoch`
//	give {member, epoch} -> {}   the owner let go (asked to), or its session ended
//	refused {epoch} -> {}        a fencing answer: the epoch had gone beyond this one (not with leases)
//
// With {"lease": true} a later epoch does not take the partition from another member: that one has to let go first.
// Nobody's, 4: epoch 4 is over, or its owner let go.
type ownership struct {
	epoch  int64
	member string
	held   bool
	lease  bool
}

type ownershipCall struct {
	f      string
	Member string `json:"member"`
	Epoch  int64  `json:"epoch"`
}

func (c ownershipCall) step(state interface{}) (bool, interface{}) {
	s := state.(ownership)
	same := s.epoch == c.Epoch && s.member == c.Member && s.held
	switch c.f {
	case "hold":
		if same {
			return true, s
		}
		taken := s.lease && s.held && s.member != c.Member
		return s.epoch < c.Epoch && !taken, ownership{c.Epoch, c.Member, true, s.lease}
	case "give":
		return same, ownership{c.Epoch, c.Member, false, s.lease}
	default:
		if s.epoch > c.Epoch {
			return true, s
		}
		return !s.lease, ownership{c.Epoch, "", false, s.lease}
	}
}

func (c ownershipCall) String() string {
	switch c.f {
	case "hold":
		return fmt.Sprintf("%s owns it in %d", c.Member, c.Epoch)
	case "give":
		return fmt.Sprintf("%s lets go in %d", c.Member, c.Epoch)
	default:
		return fmt.Sprintf("refused: later than %d", c.Epoch)
	}
}

func (s ownership) String() string {
	if !s.held {
		return fmt.Sprintf("nobody's, %d", s.epoch)
	}
	return fmt.Sprintf("%s's, %d", s.member, s.epoch)
}

func init() {
	machines["ownership"] = machine{
		start: func(init json.RawMessage) (interface{}, error) {
			var from struct{ Lease bool }
			err := decode(init, &from)
			return ownership{epoch: -1 << 62, lease: from.Lease}, err
		},
		read: readOwnership,
		hash: func(state interface{}) uint64 {
			s := state.(ownership)
			return mix(s.epoch) ^ mixText(s.member)
		},
	}
}

func readOwnership(f string, in, _ json.RawMessage) (call, error) {
	c := ownershipCall{f: f}
	if f != "hold" && f != "give" && f != "refused" {
		return nil, noSuchCall("ownership", f)
	}
	err := decode(in, &c)
	return c, err
}
