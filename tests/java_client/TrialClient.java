import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The Java client of Apache Kafka against a broker: what a user of it does, one line printed for each thing that held. */
public final class TrialClient {
    private static final long DEADLINE_MS = 60_000;
    private static final int RECORDS = 30;
    private final String bootstrap;

    private TrialClient(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        TrialClient client = new TrialClient(arguments[0]);
        client.topics();
        client.group("consumer");
        client.group("classic");
        client.exactlyOnce();
        System.exit(0);
    }

    private void topics() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            List<NewTopic> wanted = new ArrayList<>();
            for (String name : List.of("java-consumer", "java-classic", "java-in", "java-out")) {
                wanted.add(new NewTopic(name, 3, (short) 1));
            }
            admin.createTopics(wanted).all().get();
            long transactions = admin.describeFeatures().featureMetadata().get()
                .finalizedFeatures().get("transaction.version").maxVersionLevel();
            say("topics, transaction.version " + transactions);
        }
    }

    /** Two members of one group read everything once, share the partitions, and one takes over when the other leaves. */
    private void group(String protocol) {
        String topic = "java-" + protocol;
        fill(topic);
        try (KafkaConsumer<String, String> one = member(protocol, topic, topic)) {
            Set<String> seen = new HashSet<>();
            until(protocol + ": all records", () -> {
                poll(one, seen);
                return seen.size() == RECORDS;
            });
            one.commitSync();
            try (KafkaConsumer<String, String> two = member(protocol, topic, topic)) {
                until(protocol + ": a share for both", () -> {
                    poll(one, seen);
                    poll(two, seen);
                    Set<TopicPartition> both = new HashSet<>(one.assignment());
                    both.addAll(two.assignment());
                    return both.size() == 3 && one.assignment().size() + two.assignment().size() == 3
                        && !two.assignment().isEmpty();
                });
            }
            until(protocol + ": everything again", () -> {
                poll(one, seen);
                return one.assignment().size() == 3;
            });
            long committed = 0;
            for (OffsetAndMetadata place : one.committed(one.assignment()).values()) {
                committed += place.offset();
            }
            require(committed == RECORDS, protocol + ": committed " + committed);
        }
        say("group.protocol " + protocol);
    }

    /** Copies a topic in transactions, every third of which is aborted; readers of committed data see each record once. */
    private void exactlyOnce() {
        fill("java-in");
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "transactional.id", "java-copy");
        try (KafkaProducer<String, String> producer =
                 new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
             KafkaConsumer<String, String> source = member("consumer", "java-copy", "java-in")) {
            producer.initTransactions();
            int[] state = {0, 0};
            until("exactly once: all copied", () -> {
                List<ConsumerRecord<String, String>> batch = new ArrayList<>();
                source.poll(Duration.ofMillis(200)).forEach(batch::add);
                if (batch.isEmpty()) {
                    return state[0] == RECORDS;
                }
                state[1]++;
                producer.beginTransaction();
                for (ConsumerRecord<String, String> record : batch) {
                    producer.send(new ProducerRecord<>("java-out", record.value()));
                }
                Map<TopicPartition, OffsetAndMetadata> places = new java.util.HashMap<>();
                for (TopicPartition part : source.assignment()) {
                    places.put(part, new OffsetAndMetadata(source.position(part)));
                }
                producer.sendOffsetsToTransaction(places, source.groupMetadata());
                if (state[1] % 3 == 1) {
                    producer.abortTransaction();
                    Map<TopicPartition, OffsetAndMetadata> kept = source.committed(source.assignment());
                    for (TopicPartition part : source.assignment()) {
                        OffsetAndMetadata place = kept.get(part);
                        source.seek(part, place == null ? 0 : place.offset());
                    }
                } else {
                    producer.commitTransaction();
                    state[0] += batch.size();
                }
                return state[0] == RECORDS;
            });
        }
        List<String> copied = new ArrayList<>();
        try (KafkaConsumer<String, String> sink = member("consumer", "java-check", "java-out")) {
            until("exactly once: all read", () -> {
                sink.poll(Duration.ofMillis(200)).forEach(record -> copied.add(record.value()));
                return copied.size() >= RECORDS;
            });
            sink.poll(Duration.ofMillis(500)).forEach(record -> copied.add(record.value()));
        }
        require(copied.size() == RECORDS && new HashSet<>(copied).size() == RECORDS, "copied " + copied.size());
        say("exactly once");
    }

    private void fill(String topic) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        try (KafkaProducer<String, String> producer =
                 new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < RECORDS; number++) {
                producer.send(new ProducerRecord<>(topic, number % 3, null, Integer.toString(number)));
            }
        }
    }

    private KafkaConsumer<String, String> member(String protocol, String group, String topic) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap, "group.id", group, "group.protocol", protocol,
            "auto.offset.reset", "earliest", "enable.auto.commit", "false", "isolation.level", "read_committed");
        KafkaConsumer<String, String> one =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        one.subscribe(Collections.singleton(topic));
        return one;
    }

    private static void poll(KafkaConsumer<String, String> one, Set<String> seen) {
        one.poll(Duration.ofMillis(100)).forEach(record -> seen.add(record.value()));
    }

    private interface Condition {
        boolean holds();
    }

    private static void until(String what, Condition condition) {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        while (!condition.holds()) {
            require(System.currentTimeMillis() < deadline, "waited in vain for " + what);
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }

    private static void say(String what) {
        System.out.println("held: " + what);
    }
}
