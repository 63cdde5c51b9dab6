// A kfake (franz-go's broker for tests) as a program, so that the suite can put it on trial: see docs/third-party-brokers.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// named is a listener that says it has another address than it has: what the broker then advertises.
type named struct {
	net.Listener
	addr net.Addr
}

func (n named) Addr() net.Addr { return n.addr }

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

// module is the version of a module that this program is built with.
func module(path string) string {
	built, _ := debug.ReadBuildInfo()
	for _, dep := range built.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}
	return "not stated"
}

// oneReplica refuses topics with more than one replica, as brokers do that keep their replicas elsewhere.
func oneReplica(kreq kmsg.Request) (kmsg.Response, error, bool) {
	asked := kreq.(*kmsg.CreateTopicsRequest)
	answer := asked.ResponseKind().(*kmsg.CreateTopicsResponse)
	many := false
	for _, topic := range asked.Topics {
		many = many || topic.ReplicationFactor > 1
		row := kmsg.NewCreateTopicsResponseTopic()
		row.Topic, row.ErrorCode = topic.Topic, kerr.InvalidReplicationFactor.Code
		answer.Topics = append(answer.Topics, row)
	}
	if many {
		fmt.Fprintln(os.Stderr, "refused more than one replica")
	}
	return answer, nil, many
}

func main() {
	ports := flag.String("ports", "", "comma separated")
	data := flag.String("data", "", "data folder; memory if empty")
	sync := flag.Bool("sync", false, "fsync each write")
	as := flag.String("as-version", "", "pretend to be this Kafka, such as 3.5")
	auto := flag.Bool("auto-create", false, "topics appear on use")
	partitions := flag.Int("partitions", 3, "of a topic that says nothing else")
	advertise := flag.String("advertise", "", "host:port to advertise (one node)")
	version := flag.Bool("version", false, "")
	noCreate := flag.Bool("without-create-topics", false, "CreateTopics is not offered: topics appear on use only")
	one := flag.Bool("one-replica", false, "refuses more than one replica")
	flag.Parse()
	if *version {
		fmt.Println("kfake", module("github.com/twmb/franz-go/pkg/kfake"))
		return
	}
	var list []int
	for _, p := range strings.Split(*ports, ",") {
		n, err := strconv.Atoi(p)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bad port:", p)
			os.Exit(2)
		}
		list = append(list, n)
	}
	opts := []kfake.Opt{kfake.NumBrokers(len(list)), kfake.Ports(list...), kfake.DefaultNumPartitions(*partitions),
		kfake.GroupMinSessionTimeout(100 * time.Millisecond)}
	if *advertise != "" {
		opts = append(opts, kfake.ListenFn(func(network, a string) (net.Listener, error) {
			l, err := net.Listen(network, a)
			return named{l, address(*advertise)}, err
		}))
	}
	if *data != "" {
		os.MkdirAll(*data, 0o755)
		opts = append(opts, kfake.DataDir(*data))
	}
	if *sync {
		opts = append(opts, kfake.SyncWrites())
	}
	if *auto {
		opts = append(opts, kfake.AllowAutoTopicCreation())
	}
	versions := kversion.Stable()
	if *as != "" {
		versions = kversion.FromString(*as)
	}
	if *noCreate {
		versions.SetMaxKeyVersion(int16(kmsg.CreateTopics), -1)
	}
	if *as != "" || *noCreate {
		opts = append(opts, kfake.MaxVersions(versions))
	}
	opts = append(opts, kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelInfo)))
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start:", err)
		os.Exit(1)
	}
	if *one {
		c.ControlKey(int16(kmsg.CreateTopics), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			return oneReplica(kreq)
		})
	}
	line, _ := json.Marshal(map[string]any{"ready": true, "addrs": c.ListenAddrs()})
	fmt.Println(string(line))
	s := make(chan os.Signal, 1)
	signal.Notify(s, syscall.SIGTERM, syscall.SIGINT)
	<-s
	c.Close()
}
