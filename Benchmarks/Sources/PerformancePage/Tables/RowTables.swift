// The tables about many rows at once: insert, fetch, by ID; relationships; queries; batches.

extension PageTable {
  private static let byIDReferences = [
    ("GRDB: cached statement, pool", "GRDB, cached statement, pool.read each"),
    ("GRDB: `fetchOne(key:)`", "GRDB, fetchOne(key:), queue.read each"),
  ]

  /// Insert, fetch and by ID at the size that is judged.
  static var compared: PageTable {
    var rows = [
      Row(
        labels: ["insert and save, ms"], part: Part(operation: "insert"),
        names: ["GRDB": "GRDB, one statement"]),
      Row(
        labels: ["fetch all, touch every attribute, ms"], part: Part(operation: "fetch"),
        names: ["GRDB": "GRDB, positional"]),
    ]
    for (label, name) in byIDReferences {
      rows.append(
        Row(labels: ["10,000 by ID, ms (\(label))"], part: Part(operation: "by-id"), names: ["GRDB": name]))
    }
    func time(_ contender: String) -> Content {
      .figure(Part(size: 100_000, contender: contender, measure: .time, unit: "ms"))
    }
    let speed = Part(size: 100_000, contender: "Strata", measure: .speed, against: "GRDB", unit: "×")
    return PageTable(
      name: "large", card: "compare", corner: ["at 100,000 rows"],
      columns: [
        Column(title: "GRDB", content: time("GRDB")),
        Column(title: "raw LMDB", content: time("raw LMDB, hand-packed")),
        Column(title: "Strata", content: time("Strata")),
        Column(title: "× GRDB", content: .figure(speed)),
        Column(title: "required", content: .verdict([[(speed, "")]])),
      ], rows: rows)
  }

  /// What a row costs as the store grows.
  static var growth: PageTable {
    let contenders = [
      ("insert", "GRDB, one statement", "insert: GRDB"),
      ("insert", "raw LMDB, hand-packed", "insert: raw LMDB"),
      ("insert", "Strata", "insert: Strata"),
      ("fetch", "GRDB, positional", "fetch: GRDB"),
      ("fetch", "raw LMDB, hand-packed", "fetch: raw LMDB"),
      ("fetch", "Strata", "fetch: Strata"),
      ("by-id", "GRDB, cached statement, pool.read each", "by ID: GRDB, cached statement, pool"),
      ("by-id", "raw LMDB, hand-packed", "by ID: raw LMDB"),
      ("by-id", "Strata", "by ID: Strata"),
    ]
    let growth = Part(size: 1_000_000, measure: .timePerRow, against: "10,000 rows", unit: "×")
    func cost(_ size: Int, _ title: String) -> Column {
      Column(title: title, content: .figure(Part(size: size, measure: .timePerRow, unit: "ns")))
    }
    return PageTable(
      name: "growth", card: "compare", corner: ["ns per row"],
      columns: [
        cost(10_000, "10,000"), cost(100_000, "100,000"), cost(1_000_000, "1,000,000"),
        Column(title: "1M : 10k", content: .figure(growth)),
        Column(title: "required", content: .verdict([[(growth, "")]])),
      ],
      rows: contenders.map { operation, contender, label in
        Row(labels: [label], part: Part(operation: operation, contender: contender))
      })
  }

  static var relationships: PageTable {
    let prefetching = "GRDB, including(all:)"
    func row(_ label: String, _ operation: String, _ reference: String, isOptional: Bool = false) -> Row {
      Row(
        labels: [label], part: Part(operation: operation, size: 336_776, measure: .time, unit: "ms"),
        names: ["GRDB": reference], isOptional: isOptional)
    }
    let speed = Part(contender: "Strata", measure: .speed, against: "GRDB", unit: "×")
    return PageTable(
      name: "relationships", card: "graph", corner: [""],
      columns: [
        Column(title: "GRDB", content: .figure(Part(contender: "GRDB"))),
        Column(title: "Strata", content: .figure(Part(contender: "Strata"))),
        Column(title: "× GRDB", content: .figureIfAny(speed)),
        Column(title: "required", content: .verdict([[(speed, "")]])),
      ],
      rows: [
        row("import, a save each 10,000 flights, ms", "import, a save each 10000 flights", prefetching),
        row("import, one save, ms", "import, one save", prefetching, isOptional: true),
        row("traversal, against `including(all:)`, ms", "plane → flights → plane, all planes", prefetching),
        row(
          "traversal, against a request for each plane, ms", "plane → flights → plane, all planes",
          "GRDB, a request for each plane"),
        row("deletion, ms", "delete a tenth of the planes with their flights", prefetching),
        Row(
          labels: ["file after the deletion, MB"],
          part: Part(operation: "the store after the deletion", size: 336_776, measure: .file, unit: "MB"),
          names: ["GRDB": prefetching]),
      ])
  }

  static var queries: PageTable {
    let madeUp = [
      ("1,000 × `location == x`, indexed, all attributes", "1,000 × location == x, indexed, all attributes"),
      ("10 × scan, integer and substring", "10 × scan, integer and substring"),
      ("10 × count, unindexed integer", "10 × count, unindexed integer"),
      ("1,000 × newest 50 by indexed date", "1,000 × newest 50 by indexed date"),
      ("sort all by an unindexed double", "sort all by an unindexed double"),
      (
        "10 × count by a covering index, against GRDB's scan",
        "10 × count, indexed integer, against GRDB's scan"
      ),
      ("the same, GRDB with the same index", "10 × count, indexed integer, GRDB with the same index"),
      ("update 10 % in one save", "update 10 % in one save"),
      ("delete 10 % in one save", "delete 10 % in one save"),
    ]
    let real = [
      ("10 × planes with `ANY flights.delay > 600`", "10 × planes with ANY flights.delay > 600"),
      ("10 × planes with `ANY flights.delay > 60`", "10 × planes with ANY flights.delay > 60"),
      (
        "10 × planes with more than 5 late long flights, `SUBQUERY`",
        "10 × planes with more than 5 late long flights (SUBQUERY)"
      ),
      ("10 × count of flights by `plane.manufacturer`", "10 × count of flights by plane.manufacturer"),
      ("10 × flights of one `plane.tail`, all attributes", "10 × flights of one plane.tail, all attributes"),
    ]
    let speed = Part(contender: "Strata", measure: .speed, against: "GRDB", unit: "×")
    return PageTable(
      name: "queries", card: "queries", corner: [""],
      columns: [
        Column(title: "GRDB", content: .figure(Part(contender: "GRDB", measure: .time, unit: "ms"))),
        Column(
          title: "Strata", content: .figure(Part(contender: "Strata", measure: .time, unit: "ms"), .spread)),
        Column(title: "× GRDB", content: .figure(speed)),
        Column(title: "required", content: .verdict([[(speed, "")]])),
      ],
      rows: madeUp.map { Row(labels: [$0.0], part: Part(operation: $0.1, size: 100_000)) }
        + real.map { Row(labels: [$0.0], part: Part(operation: $0.1, size: 336_776)) })
  }

  static var batches: PageTable {
    let jobs = [
      "insert all, two indexes", "update 10 %, two constants", "update 10 %, an expression, indexed",
      "delete 10 %",
    ]
    let speed = Part(measure: .speed, against: "GRDB", unit: "×")
    let floor = Part(measure: .time, against: "hand-packed LMDB", unit: "×")
    let objects = Part(measure: .time, against: "objects", unit: "×")
    return PageTable(
      name: "batches", card: "batches", corner: ["rows by column"],
      columns: [
        Column(title: "× GRDB", content: .figure(speed, .spread)),
        Column(title: "of the floor's time", content: .figure(floor, .spread)),
        Column(title: "of the objects' time", content: .figure(objects, .spread)),
        Column(
          title: "required",
          content: .verdict([[(speed, " × GRDB"), (objects, " of the objects")], [(floor, " of the floor")]])),
      ],
      rows: jobs.flatMap { job in
        [
          Row(labels: [job], part: Part(operation: job, size: 100_000, contender: "batch, by columns")),
          Row(
            labels: ["the same, not merged"],
            part: Part(operation: job, size: 100_000, contender: "the same, not merged")),
        ]
      })
  }

  static var batchMemory: PageTable {
    func column(_ job: String, _ title: String) -> Column {
      Column(title: title, content: .figure(Part(operation: job)))
    }
    func row(_ size: Int, _ label: String, isOptional: Bool = false) -> Row {
      Row(
        labels: [label], part: Part(size: size, contender: "batch, by columns", measure: .memory, unit: "MB"),
        isOptional: isOptional)
    }
    return PageTable(
      name: "batch memory", card: "batches", corner: ["rows"],
      columns: [
        column("insert all, two indexes", "insert all, two indexes, MB"),
        column("update 10 %, two constants", "update 10 %, MB"), column("delete 10 %", "delete 10 %, MB"),
      ],
      rows: [
        row(100_000, "100,000"), row(1_000_000, "1,000,000"), row(4_000_000, "4,000,000", isOptional: true),
      ])
  }
}
