// The tables about objects: small saves, stacks, owners of many members, accessors, models of SwiftData, fetched results.

extension PageTable {
  static var saves: PageTable {
    func time(_ contender: String) -> Content { .figure(Part(contender: contender, measure: .time)) }
    func processor(_ contender: String) -> Content {
      .figure(Part(contender: contender, measure: .processorTime))
    }
    let kinds = ["durable", "relaxed", "none"].flatMap { promise in
      [
        (promise, "\(promise), insert, root"),
        ("\(promise), two indexes and a history", "\(promise), insert, root, two indexes and a history"),
      ]
    }
    let threads = ["durable", "relaxed"].flatMap { promise in
      [8, 32].map { ("\(promise), \($0) threads", "\(promise), insert, root, \($0) threads") }
    }
    let speed = Part(
      contender: "Strata, log", measure: .speed, against: "GRDB, the faster of both", unit: "×")
    let work = Part(contender: "Strata, log", measure: .processorTime)
    return PageTable(
      name: "saves", card: "saves", corner: [""],
      columns: [
        Column(title: "Strata", content: time("Strata, log")),
        Column(title: "without", content: time("Strata")),
        Column(title: "GRDB, the faster of both", content: time("GRDB, the faster of both")),
        Column(title: "raw LMDB", content: time("raw LMDB")),
        Column(title: "append", content: time("append")),
        Column(title: "× GRDB", content: .figure(speed)),
        Column(
          title: "required", content: .verdict([[(speed, " × GRDB"), (work, " µs of processor time")]])),
        Column(title: "processor: Strata", content: processor("Strata, log")),
        Column(title: "GRDB", content: processor("GRDB, the faster of both")),
      ],
      rows: (kinds + threads).map { Row(labels: [$0.0], part: Part(operation: $0.1, unit: "µs")) })
  }

  static var stacks: PageTable {
    let (second, third) = ("C child of main", "D writer ← main ← worker")
    func ratio(_ contender: String) -> Part {
      Part(contender: contender, measure: .time, against: "the fastest", unit: "×")
    }
    func column(_ contender: String) -> Column {
      Column(title: contender, content: .figure(Part(contender: contender), .worst))
    }
    func row(_ label: String, _ size: Int, _ measure: Figure.Measure) -> Row {
      Row(labels: [label], part: Part(operation: "import", size: size, measure: measure, unit: "ms"))
    }
    return PageTable(
      name: "stacks", card: "stacks", corner: ["an import"],
      columns: [
        column("B siblings"), column(second), column(third),
        Column(title: "C × fastest", content: .figure(ratio(second))),
        Column(title: "D × fastest", content: .figure(ratio(third))),
        Column(title: "required", content: .verdict([[(ratio(second), ""), (ratio(third), "")]])),
      ], rows: [row("15,000 rows, ms", 15_000, .time), row("100,000 rows, ms", 100_000, .time)])
  }

  static var stalls: PageTable {
    let stacks = ["B siblings", "C child of main", "D writer ← main ← worker"]
    func part(_ contender: String) -> Part { Part(contender: contender, measure: .stall, unit: "ms") }
    return PageTable(
      name: "stalls", card: "stacks", corner: ["the longest stall"],
      columns: stacks.map { Column(title: $0, content: .figure(part($0), .worst)) } + [
        Column(title: "required", content: .verdict([stacks.map { (part($0), "") }]))
      ],
      rows: [("15,000 rows, ms", 15_000), ("100,000 rows, ms", 100_000)].map {
        Row(labels: [$0.0], part: Part(operation: "import", size: $0.1))
      })
  }

  static var owners: PageTable {
    func column(_ operation: String) -> Column {
      Column(title: operation, content: .figure(Part(operation: operation, measure: .time, unit: "µs")))
    }
    let cascade = Part(operation: "cascade", measure: .time, unit: "ms")
    let memory = Part(operation: "cascade", measure: .memoryPerObject, unit: "bytes")
    return PageTable(
      name: "owners", card: "owner", corner: ["members", ""],
      columns: [
        column("append and save"), column("remove and save"), column("count"), column("look up"),
        Column(title: "cascade, all members, ms", content: .figure(cascade)),
        Column(title: "memory at most, bytes per object", content: .figureIfAny(memory)),
      ],
      rows: ["one-to-many", "many-to-many"].flatMap { relationship in
        [(100, "100"), (10_000, "10,000"), (1_000_000, "1,000,000")].map {
          Row(labels: [$0.1, relationship], part: Part(size: $0.0, contender: relationship))
        }
      })
  }

  static var accessors: PageTable {
    func column(_ contender: String, _ title: String) -> Column {
      Column(title: title, content: .figure(Part(contender: contender)))
    }
    func row(_ label: String, _ operation: String, _ unit: String) -> Row {
      Row(labels: [label], part: Part(operation: operation, size: 100_000, measure: .time, unit: unit))
    }
    let ratio = Part(contender: "@NSManaged", against: "by hand", unit: "×")
    return PageTable(
      name: "accessors", card: "accessors", corner: [""],
      columns: [
        column("by hand", "by hand"), column("@NSManaged", "`@NSManaged`"),
        Column(title: "ratio", content: .figure(ratio, .spread)),
        Column(title: "required", content: .verdict([[(ratio, "")]])),
      ],
      rows: [
        row("read an attribute, ns", "read an attribute", "ns"),
        row("set an attribute, ns", "set an attribute", "ns"),
        row("fetch 100,000, read ten attributes of each, ms", "fetch all, read all ten attributes", "ms"),
        row(
          "make 100,000, set ten attributes of each, save, ms", "make all, set all ten attributes, save", "ms"
        ),
      ])
  }

  static var models: PageTable {
    func row(_ label: String, _ operation: String, _ measure: Figure.Measure, _ unit: String) -> Row {
      Row(labels: [label], part: Part(operation: operation, size: 100_000, measure: measure, unit: unit))
    }
    let ratio = Part(contender: "SwiftData", against: "native Strata", unit: "×")
    return PageTable(
      name: "models", card: "swiftdata", corner: [""],
      columns: [
        Column(title: "SwiftData", content: .figure(Part(contender: "SwiftData"))),
        Column(title: "native", content: .figure(Part(contender: "native Strata"))),
        Column(title: "× native", content: .figure(ratio, .spread)),
        Column(title: "required", content: .verdict([[(ratio, "")]])),
        Column(title: "GRDB's records", content: .figureIfAny(Part(contender: "GRDB's records"))),
      ],
      rows: [
        row("insert and save, ms", "insert", .time, "ms"),
        row("fetch all, touch every attribute, ms", "fetch", .time, "ms"),
        row("10,000 by identifier, ms", "by-id", .time, "ms"),
        row("memory of inserted models, MB", "insert", .memory, "MB"),
        row("memory of fetched models, MB", "fetch", .memory, "MB"),
      ])
  }

  static var fetchedResults: PageTable {
    let operations = [
      ("open, with `fetchBatchSize`, ms", "open", "ms"), ("the first change, ms", "the first change", "ms"),
      ("update, µs", "edit here to report: update", "µs"), ("move, µs", "edit here to report: move", "µs"),
      ("insert, µs", "edit here to report: insert", "µs"),
      ("delete, µs", "edit here to report: delete", "µs"),
      ("a sibling's move, µs", "commit of a sibling to report: move", "µs"),
      ("1,000 changes in one commit, ms", "1,000 changes in one commit to report", "ms"),
      ("all IDs fetched again, ms", "fetching all IDs anew", "ms"),
    ]
    let sizes = [(10_000, "10,000 rows"), (100_000, "100,000"), (1_000_000, "1,000,000")]
    return PageTable(
      name: "fetched results", card: "fetched", corner: [""],
      columns: sizes.map { Column(title: $0.1, content: .figure(Part(size: $0.0))) } + [
        Column(title: "required of 1,000,000", content: .verdict([[(Part(size: 1_000_000), "")]]))
      ],
      rows: operations.map {
        Row(labels: [$0.0], part: Part(operation: $0.1, contender: "Strata", measure: .time, unit: $0.2))
      } + [
        Row(
          labels: ["memory of a list, bytes per row"],
          part: Part(
            operation: "memory of a list, for each row", contender: "Strata", measure: .memoryPerObject,
            unit: "B"))
      ])
  }

  static var compaction: PageTable {
    func column(_ operation: String, _ measure: Figure.Measure, _ title: String) -> Column {
      Column(
        title: title,
        content: .figure(Part(operation: operation, measure: measure, unit: measure == .file ? "MB" : "ms")))
    }
    let beside = "save beside a compaction"
    let slowest = Part(operation: beside, measure: .slowest, unit: "ms")
    return PageTable(
      name: "compaction", card: "compaction", corner: ["rows, of which a quarter stays"],
      columns: [
        column("before", .file, "file, MB"), column("after", .file, "then"),
        column("compaction", .time, "compaction, ms"),
        column("save alone", .latency50, "a save alone, 50 %, ms"),
        column("save alone", .latency99, "99 %"), column("save alone", .slowest, "slowest"),
        column(beside, .latency50, "beside it, 50 %, ms"), column(beside, .latency99, "99 %"),
        column(beside, .slowest, "slowest"), Column(title: "required", content: .verdict([[(slowest, "")]])),
      ],
      rows: [(100_000, "100,000"), (1_000_000, "1,000,000")].map {
        Row(labels: [$0.1], part: Part(size: $0.0, contender: "Strata"))
      })
  }

  /// In the order of the page.
  static var all: [PageTable] {
    [
      compared, growth, saves, stacks, stalls, relationships, owners, queries, batches, batchMemory,
      accessors,
      models, fetchedResults, compaction,
    ]
  }
}
