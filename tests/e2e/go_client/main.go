// franz-go against a broker: what a user of it does, one line printed for each thing that held.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	records  = 30
	deadline = 180 * time.Second
	patience = 6 * time.Second // who dies, or cannot say goodbye, is missed soon
)

func main() {
	bootstrap := os.Args[1]
	topics(bootstrap, "go-consumer", "go-classic", "go-in", "go-out")
	group(bootstrap, "classic")
	group(bootstrap, "consumer", kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	lasting := time.Duration(0)
	if len(os.Args) > 2 {
		seconds, err := strconv.ParseFloat(os.Args[2], 64)
		must(err)
		lasting = time.Duration(seconds * float64(time.Second))
	}
	exactlyOnce(bootstrap, time.Now().Add(lasting))
}

func topics(bootstrap string, names ...string) {
	client := connect(bootstrap)
	defer client.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = 30_000
	for _, name := range names {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 3, -1
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(within(), client)
	must(err)
	for _, topic := range answer.Topics {
		must(kerr.ErrorForCode(topic.ErrorCode))
	}
	say("topics")
}

// group: two members read everything once between them, and one takes over when the other leaves.
func group(bootstrap, protocol string, options ...kgo.Opt) {
	topic := "go-" + protocol
	fill(bootstrap, topic, 0)
	member := func() *kgo.Client {
		return connect(bootstrap, append([]kgo.Opt{kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic),
			kgo.SessionTimeout(patience), kgo.HeartbeatInterval(200 * time.Millisecond), kgo.RebalanceTimeout(patience),
			kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, options...)...)
	}
	one := member()
	defer one.Close()
	seen := map[string]bool{}
	for len(seen) < records {
		read(one, protocol+": all records", seen)
	}
	until(protocol+": a commit", func() bool { return one.CommitUncommittedOffsets(within()) == nil })

	two := member()
	fill(bootstrap, topic, 0)
	until(protocol+": a share for the second member", func() bool {
		poll(one, map[string]bool{})
		return poll(two, map[string]bool{}) > 0
	})
	two.Close()
	fill(bootstrap, topic, 0)
	again := map[string]bool{}
	for len(again) < records {
		read(one, protocol+": everything again", again)
	}
	say("group protocol " + protocol)
}

// copier copies a topic in transactions, every third of which is aborted. What franz-go gives up on ends its session.
type copier struct {
	bootstrap    string
	session      *kgo.GroupTransactSession
	transactions int
}

func exactlyOnce(bootstrap string, end time.Time) {
	copier := &copier{bootstrap: bootstrap}
	copier.begin()
	sent := 0
	for sent == 0 || time.Now().Before(end) {
		fill(bootstrap, "go-in", sent)
		sent += records
		until("exactly once: all copied", func() bool {
			if err := copier.step(); err != nil {
				fmt.Println("again:", err)
				copier.session.Close()
				copier.begin()
			}
			return copier.committed() == int64(sent)
		})
	}
	copier.session.Close()

	sink := connect(bootstrap, kgo.ConsumeTopics("go-out"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer sink.Close()
	seen, count := map[string]bool{}, 0
	until("exactly once: all read", func() bool {
		count += poll(sink, seen)
		return len(seen) == sent
	})
	count += poll(sink, seen)
	if count != sent {
		fail(fmt.Errorf("read %d records, %d of them different", count, len(seen)))
	}
	say("exactly once")
}

func (c *copier) begin() {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...), kgo.TransactionalID("go-copy"), kgo.ConsumerGroup("go-copy"),
		kgo.SessionTimeout(patience), kgo.HeartbeatInterval(200*time.Millisecond), kgo.RebalanceTimeout(patience),
		kgo.ConsumeTopics("go-in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets())
	must(err)
	c.session = session
}

// step is one transaction over what a poll brings. Empty polls do not count: they may come in step with the aborts.
func (c *copier) step() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	batch := c.session.PollFetches(ctx).Records()
	if len(batch) == 0 {
		return nil
	}
	c.transactions++
	abort := c.transactions%3 == 1
	if err := c.session.Begin(); err != nil {
		return err
	}
	sends := kgo.AbortingFirstErrPromise(c.session.Client())
	for _, record := range batch {
		c.session.Produce(within(), &kgo.Record{Topic: "go-out", Value: record.Value}, sends.Promise())
	}
	worked := sends.Err() == nil
	_, err := c.session.End(within(), kgo.TransactionEndTry(worked && !abort))
	return err
}

// committed is the sum of the group's committed offsets, as the session knows them.
func (c *copier) committed() int64 {
	sum := int64(0)
	for _, place := range c.session.Client().CommittedOffsets()["go-in"] {
		sum += place.Offset
	}
	return sum
}

func connect(bootstrap string, more ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...)}, more...)...)
	must(err)
	return client
}

func fill(bootstrap, topic string, first int) {
	client := connect(bootstrap, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	until("a producer id", func() bool { // asked for in vain, franz-go would give up on the records
		_, _, err := client.ProducerID(within())
		return err == nil
	})
	for number := first; number < first+records; number++ {
		record := &kgo.Record{Topic: topic, Partition: int32(number % 3), Value: []byte(strconv.Itoa(number))}
		must(client.ProduceSync(within(), record).FirstErr())
	}
}

func read(client *kgo.Client, what string, seen map[string]bool) {
	until(what, func() bool { return poll(client, seen) > 0 })
}

func poll(client *kgo.Client, seen map[string]bool) int {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	found := client.PollFetches(ctx).Records()
	for _, record := range found {
		seen[string(record.Value)] = true
	}
	return len(found)
}

func until(what string, holds func() bool) {
	for end := time.Now().Add(deadline); !holds(); {
		if time.Now().After(end) {
			fail(fmt.Errorf("waited in vain for %s", what))
		}
	}
}

func within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	time.AfterFunc(deadline, cancel)
	return ctx
}

func must(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func say(what string) { fmt.Println("held:", what) }
