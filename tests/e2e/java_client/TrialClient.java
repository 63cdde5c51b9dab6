import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The Java client of Apache Kafka against a broker: what a user of it does, one line printed for each thing that held. */
public final class TrialClient {
    private static final long DEADLINE_MS = 180_000;
    private static final int RECORDS = 30;
    private final String bootstrap;
    private KafkaProducer<String, String> copier;
    private KafkaConsumer<String, String> source;
    private int transactions;

    private TrialClient(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        TrialClient client = new TrialClient(arguments[0]);
        client.topics();
        client.group("consumer");
        client.group("classic");
        client.exactlyOnce(arguments.length > 1 ? (long) (Double.parseDouble(arguments[1]) * 1000) : 0);
        System.exit(0);
    }

    private void topics() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            List<NewTopic> wanted = new ArrayList<>();
            for (String name : List.of("java-consumer", "java-classic", "java-in", "java-out")) {
                wanted.add(new NewTopic(name, Optional.of(3), Optional.empty()));
            }
            admin.createTopics(wanted).all().get();
            long transactions = admin.describeFeatures().featureMetadata().get()
                .finalizedFeatures().get("transaction.version").maxVersionLevel();
            say("topics, transaction.version " + transactions);
        }
    }

    /** Two members of one group read everything once, share the partitions, and one takes over when the other leaves. */
    private void group(String protocol) throws Exception {
        String topic = "java-" + protocol;
        fill(topic, 0);
        try (KafkaConsumer<String, String> one = member(protocol, topic, topic)) {
            Set<String> seen = new HashSet<>();
            until(protocol + ": all records", () -> {
                poll(one, seen);
                return seen.size() == RECORDS;
            });
            until(protocol + ": a commit", () -> worked(one::commitSync));
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
            until(protocol + ": what was committed", () -> committed(one) == RECORDS);
        }
        say("group.protocol " + protocol);
    }

    /** Copies a topic in transactions, every third of which is aborted; readers of committed data see each record once. */
    private void exactlyOnce(long lastingMs) throws Exception {
        long end = System.currentTimeMillis() + lastingMs;
        int sent = 0;
        begin();
        do {
            fill("java-in", sent);
            sent += RECORDS;
            int all = sent;
            until("exactly once: all copied", () -> {
                copy();
                return committed(source) == all;
            });
        } while (System.currentTimeMillis() < end);
        source.close();
        copier.close();
        int all = sent;
        List<String> copied = new ArrayList<>();
        try (KafkaConsumer<String, String> sink = member("consumer", "java-check", "java-out")) {
            until("exactly once: all read", () -> {
                sink.poll(Duration.ofMillis(200)).forEach(record -> copied.add(record.value()));
                return copied.size() >= all;
            });
            sink.poll(Duration.ofMillis(500)).forEach(record -> copied.add(record.value()));
        }
        require(copied.size() == all && new HashSet<>(copied).size() == all, "copied " + copied.size() + " of " + all);
        say("exactly once");
    }

    private void begin() {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "transactional.id", "java-copy");
        copier = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        copier.initTransactions();
        source = member("consumer", "java-copy", "java-in");
    }

    /** One transaction over what a poll brings. What fails in a way that a new transaction mends is done again. */
    private void copy() {
        List<ConsumerRecord<String, String>> batch = new ArrayList<>();
        source.poll(Duration.ofMillis(200)).forEach(batch::add);
        if (batch.isEmpty()) {
            return;
        }
        boolean abort = ++transactions % 3 == 1; // empty polls do not count: they may come in step with the aborts
        try {
            copier.beginTransaction();
            for (ConsumerRecord<String, String> record : batch) {
                copier.send(new ProducerRecord<>("java-out", record.value()));
            }
            Map<TopicPartition, OffsetAndMetadata> places = new HashMap<>();
            for (TopicPartition part : source.assignment()) {
                places.put(part, new OffsetAndMetadata(source.position(part)));
            }
            copier.sendOffsetsToTransaction(places, source.groupMetadata());
            if (!abort) {
                copier.commitTransaction();
                return;
            }
        } catch (ProducerFencedException | OutOfOrderSequenceException fatal) {
            throw fatal;
        } catch (KafkaException problem) {
            System.out.println("again: " + problem);
        }
        copier.abortTransaction();
        until("exactly once: where to go on", () -> worked(this::goBack));
    }

    private void goBack() {
        Map<TopicPartition, OffsetAndMetadata> kept = source.committed(source.assignment());
        for (TopicPartition part : source.assignment()) {
            OffsetAndMetadata place = kept.get(part);
            source.seek(part, place == null ? 0 : place.offset());
        }
    }

    private static long committed(KafkaConsumer<String, String> one) {
        long[] sum = {0};
        boolean told = worked(() -> {
            for (OffsetAndMetadata place : one.committed(one.assignment()).values()) {
                sum[0] += place == null ? 0 : place.offset();
            }
        });
        return told ? sum[0] : -1;
    }

    /** Whether it worked; a failure that the client calls worth another try is none. */
    private static boolean worked(Runnable step) {
        try {
            step.run();
            return true;
        } catch (RetriableException | CommitFailedException | RebalanceInProgressException problem) {
            System.out.println("again: " + problem);
            return false;
        }
    }

    private void fill(String topic, int first) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<String, String> producer =
                 new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = first; number < first + RECORDS; number++) {
                sent.add(producer.send(new ProducerRecord<>(topic, number % 3, null, Integer.toString(number))));
            }
        }
        for (Future<RecordMetadata> one : sent) {
            one.get();
        }
    }

    private KafkaConsumer<String, String> member(String protocol, String group, String topic) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "group.id", group, "group.protocol", protocol, "max.poll.interval.ms", 10_000,
            "auto.offset.reset", "earliest", "enable.auto.commit", "false", "isolation.level", "read_committed"));
        if (protocol.equals("classic")) {
            settings.putAll(Map.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 200));
        }
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
