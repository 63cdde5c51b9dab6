// A kfake (franz-go's broker for tests) of any version as a program: only what the oldest one has.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	ports := flag.String("ports", "", "comma separated")
	flag.Parse()
	var list []int
	for _, port := range strings.Split(*ports, ",") {
		number, err := strconv.Atoi(port)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bad port:", port)
			os.Exit(2)
		}
		list = append(list, number)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(len(list)), kfake.Ports(list...), kfake.DefaultNumPartitions(3))
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot start:", err)
		os.Exit(1)
	}
	defer cluster.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}
