/// One bar: how many times as fast as the peer.
struct Bar: Equatable {
  var group: String
  var label: String
  /// The median of all runs of the card.
  var value: Double
  /// As it is written beside the bar.
  var text: String
  /// From the least to the most that any run found; nil where there is one figure only.
  var range: ClosedRange<Double>?
  var required: Bound?
  /// Whether what is required is reached; nil where nothing is required.
  var isReached: Bool?
  /// What is required, in short.
  var requirement = ""
}

extension Bar {
  /// Which multiples are drawn, in this order.
  struct Source {
    var group: String
    var label: String
    var card: String
    var key: Figure.Key
    /// Another multiple that has to be reached, too, where something is required of it.
    var also: Figure.Key?
    /// Another figure of the card that has a requirement of its own: to reach that is enough.
    var otherwise: (key: Figure.Key, unit: String, words: String)?
  }

  static var sources: [Source] {
    func source(
      _ group: String, _ label: String, _ card: String, _ operation: String, _ size: Int?,
      _ contender: String,
      _ against: String
    ) -> Source {
      let key = Figure.Key(
        operation: operation, size: size, contender: contender, measure: .speed, against: against)
      return Source(group: group, label: label, card: card, key: key)
    }
    func compared(_ label: String, _ operation: String, _ against: String) -> Source {
      source("100,000 rows", label, "compare", operation, 100_000, "Strata", against)
    }
    func query(_ label: String, _ operation: String, size: Int = 100_000) -> Source {
      source("Queries", label, "queries", operation, size, "Strata", "GRDB")
    }
    func batch(_ label: String, _ operation: String) -> Source {
      var batch = source(
        "Batches of 100,000 rows", label, "batches", operation, 100_000, "batch, by columns", "GRDB")
      var objects = batch.key
      (objects.measure, objects.against) = (.time, "objects")
      batch.also = objects
      var floor = batch.key
      (floor.measure, floor.against) = (.time, "hand-packed LMDB")
      batch.otherwise = (floor, "×", " of LMDB")
      return batch
    }
    func graph(_ label: String, _ operation: String) -> Source {
      source(
        "Relationships, 1.6 million links", label, "graph", operation, 336_776, "Strata",
        "GRDB, including(all:)")
    }
    func save(_ label: String, _ operation: String) -> Source {
      var save = source(
        "Small saves", label, "saves", operation, nil, "Strata, log", "GRDB, the faster of both")
      var work = save.key
      (work.measure, work.against) = (.processorTime, nil)
      save.otherwise = (work, "µs", " µs of work")
      return save
    }
    return [
      compared("insert, one durable save", "insert", "GRDB, one statement"),
      compared("fetch all, read every attribute", "fetch", "GRDB, positional"),
      compared("10,000 by ID, cached statement", "by-id", "GRDB, cached statement, pool.read each"),
      compared("10,000 by ID, fetchOne(key:)", "by-id", "GRDB, fetchOne(key:), queue.read each"),
      query("equal, indexed", "1,000 × location == x, indexed, all attributes"),
      query("scan, integer and substring", "10 × scan, integer and substring"),
      query("count, without an index", "10 × count, unindexed integer"),
      query("count, the same index", "10 × count, indexed integer, GRDB with the same index"),
      query("newest 50 by an index", "1,000 × newest 50 by indexed date"),
      query("sort all", "sort all by an unindexed double"),
      query("ANY flights.delay > 600", "10 × planes with ANY flights.delay > 600", size: 336_776),
      query("SUBQUERY", "10 × planes with more than 5 late long flights (SUBQUERY)", size: 336_776),
      query("update 10 % in one save", "update 10 % in one save"),
      query("delete 10 % in one save", "delete 10 % in one save"),
      batch("insert", "insert all, two indexes"),
      batch("update 10 %", "update 10 %, two constants"),
      batch("delete 10 %", "delete 10 %"),
      graph("import", "import, a save each 10000 flights"),
      graph("traversal", "plane → flights → plane, all planes"),
      graph("deletion with a cascade", "delete a tenth of the planes with their flights"),
      save("durable, 1 thread", "durable, insert, root"),
      save("durable, 8 threads", "durable, insert, root, 8 threads"),
      save("durable, 32 threads", "durable, insert, root, 32 threads"),
      save("relaxed, 1 thread", "relaxed, insert, root"),
      save("relaxed, 8 threads", "relaxed, insert, root, 8 threads"),
      save("nothing flushed, 1 thread", "none, insert, root"),
    ]
  }

  /// - Throws: `ResultError` when a multiple is missing, or is zero, which has no place on the scale.
  init(_ source: Source, _ results: Results) throws {
    let figures = try results.found(source.key, unit: "×", in: source.card).map(\.figure)
    let file = results.name(of: source.card)
    let medians = figures.compactMap(\.median).sorted { $0.value < $1.value }
    guard !medians.isEmpty else {
      throw ResultError(file: file, line: nil, "\(source.key) is missing for the chart.")
    }
    let all = figures.flatMap { [$0.lowest, $0.median, $0.highest] }.compactMap { $0?.value }
    guard let least = all.min(), let most = all.max(), least > 0 else {
      throw ResultError(file: file, line: nil, "\(source.key) is 0, which the chart cannot show.")
    }
    group = source.group
    label = source.label
    let (low, high) = (medians[(medians.count - 1) / 2], medians[medians.count / 2])
    value = (low.value + high.value) / 2
    text = low.text == high.text ? low.shown : Amount(measured: value)?.shown ?? ""
    range = least < most ? least...most : nil
    required = figures.lazy.compactMap(\.required).first
    var requirements: [String] = []
    var reached: [Bool] = []
    if let required {
      requirements.append(required.text)
      let other = try source.also.flatMap { try Self.judged($0, unit: "×", source.card, results) }
      // Of some runs only the least and the most are known.
      let ends = figures.filter { $0.median == nil }.flatMap { [$0.lowest, $0.highest] }.compactMap(\.self)
      reached.append(
        required.isMet(by: value) && ends.allSatisfy { required.isMet(by: $0.value) }
          && other?.isReached != false)
    }
    if let (key, unit, words) = source.otherwise,
      let other = try Self.judged(key, unit: unit, source.card, results)
    {
      requirements.append(other.required.text + words)
      reached.append(other.isReached)
    }
    isReached = reached.isEmpty ? nil : reached.contains(true)
    requirement = requirements.joined(separator: " or ")
  }

  /// What is required of a figure, and whether the median of all runs reaches it; nil where nothing is.
  private static func judged(_ key: Figure.Key, unit: String, _ card: String, _ results: Results) throws -> (
    required: Bound, isReached: Bool
  )? {
    let figures = try results.found(key, unit: unit, in: card).map(\.figure)
    let medians = figures.compactMap { $0.median?.value }.sorted()
    guard let required = figures.lazy.compactMap(\.required).first, !medians.isEmpty else { return nil }
    let median = (medians[(medians.count - 1) / 2] + medians[medians.count / 2]) / 2
    return (required, required.isMet(by: median))
  }
}
