/// Finds in a record of transactions what must not have happened.
///
/// Lists that were read say in which order they were appended to. From that follows which transaction must come before which (``DependencyGraph``), and a cycle is an
/// anomaly: what kind depends on the edges in it. The words are those of Adya's thesis; how they are found is Elle's way.
public struct IsolationCheck {
  public private(set) var anomalies: [Anomaly] = []

  /// No more of each kind are told.
  static let mostOfAKind = 8

  private let records: [TransactionRecord]
  /// By place in ``records``: what has taken place, as far as anybody can tell.
  private var isCommitted: [Bool]
  /// By list and element, who has appended it.
  private var writers: [Element: Writer] = [:]
  /// By list, the elements in the order in which they were appended, as far as somebody has seen them.
  private var orders: [Int: [Int]] = [:]

  private struct Element: Hashable {
    let list: Int
    let element: Int
  }
  private struct Writer {
    let place: Int
    /// Whether the same transaction has appended more behind it.
    let isIntermediate: Bool
  }
  /// What somebody has seen of a list: before the transaction appended to it, or what it made of it.
  private struct Version {
    let place: Int
    let elements: [Int]
  }

  public init(_ records: [TransactionRecord]) {
    self.records = records
    isCommitted = records.map { $0.outcome == .acknowledged }
    findWriters()
    checkReads()
    findOrders()
    checkLosses()
    checkUpdates()
    checkCycles()
  }

  /// What that isolation forbids.
  public func violations(of isolation: Isolation) -> [Anomaly] { anomalies.filter(isolation.forbids) }

  private mutating func note(_ kind: Anomaly.Kind, isRealTime: Bool = false, _ words: String) {
    guard anomalies.count(where: { $0.kind == kind }) < Self.mostOfAKind else { return }
    anomalies.append(Anomaly(kind, isRealTime: isRealTime, words))
  }

  // MARK: Lists

  private mutating func findWriters() {
    for (place, record) in records.enumerated() {
      var last: [Int: Int] = [:]
      for case .append(let list, let element) in record.operations { last[list] = element }
      for case .append(let list, let element) in record.operations {
        writers[Element(list: list, element: element)] = Writer(
          place: place, isIntermediate: last[list] != element)
      }
    }
    // What somebody has seen has taken place, whatever its own session knows.
    for record in records where record.outcome == .acknowledged {
      for case .read(let list, let elements) in record.operations {
        for element in elements {
          guard let writer = writers[Element(list: list, element: element)] else { continue }
          if records[writer.place].outcome == .unknown { isCommitted[writer.place] = true }
        }
      }
    }
  }

  private mutating func checkReads() {
    for record in records where record.outcome == .acknowledged {
      var known: [Int: [Int]] = [:]
      for operation in record.operations {
        switch operation {
        case .read(let list, let elements):
          if let known = known[list], known != elements {
            note(.changedRead, "\(record) knew l\(list) as \(known)")
          }
          known[list] = elements
          checkRead(record, list, elements)
        case .append(let list, let element): known[list]?.append(element)
        default: break
        }
      }
    }
  }

  private mutating func checkRead(_ record: TransactionRecord, _ list: Int, _ elements: [Int]) {
    var seen: Set<Int> = []
    for element in elements {
      if !seen.insert(element).inserted { note(.doubled, "\(element) is twice in l\(list): \(record)") }
      guard let writer = writers[Element(list: list, element: element)] else {
        note(.strange, "nobody has appended \(element) to l\(list): \(record)")
        continue
      }
      if records[writer.place].outcome == .failed {
        note(.abortedRead, "\(record) has seen \(element) of \(records[writer.place])")
      }
    }
    if let last = elements.last, let writer = writers[Element(list: list, element: last)],
      writer.isIntermediate, records[writer.place] != record
    {
      note(.intermediateRead, "\(record) has seen \(last), but not the rest, of \(records[writer.place])")
    }
  }

  /// What a transaction has read of each list before it appended to it, and what it made of that.
  private func versions(_ place: Int) -> [Int: (read: [Int], made: [Int]?)] {
    var versions: [Int: (read: [Int], made: [Int]?)] = [:]
    var blind: Set<Int> = []
    for operation in records[place].operations {
      switch operation {
      case .read(let list, let elements):
        if versions[list] == nil, !blind.contains(list) { versions[list] = (elements, nil) }
      case .append(let list, let element):
        if let version = versions[list] {
          versions[list]?.made = (version.made ?? version.read) + [element]
        } else {
          blind.insert(list)
        }
      default: break
      }
    }
    return versions
  }

  private mutating func findOrders() {
    var seen: [Int: [Version]] = [:]
    for (place, record) in records.enumerated() where isCommitted[place] {
      for (list, version) in versions(place) {
        seen[list, default: []].append(Version(place: place, elements: version.read))
        if let made = version.made { seen[list]?.append(Version(place: place, elements: made)) }
      }
      // Reads behind appends of its own.
      for case .read(let list, let elements) in record.operations {
        seen[list, default: []].append(Version(place: place, elements: elements))
      }
    }
    for (list, versions) in seen.sorted(by: { $0.key < $1.key }) {
      var longest = Version(place: -1, elements: [])
      for version in versions.sorted(by: { $0.elements.count < $1.elements.count }) {
        if !version.elements.starts(with: longest.elements), longest.place >= 0 {
          note(.divergentOrder, "l\(list): \(records[longest.place]) and \(records[version.place])")
        }
        longest = version
      }
      orders[list] = longest.elements
    }
  }

  private mutating func checkLosses() {
    var lastReads: [Int: (begin: UInt64, elements: Set<Int>)] = [:]
    for record in records where record.outcome == .acknowledged {
      for case .read(let list, let elements) in record.operations
      where record.begin >= lastReads[list]?.begin ?? 0 {
        lastReads[list] = (record.begin, Set(elements))
      }
    }
    for record in records where record.outcome == .acknowledged {
      for case .append(let list, let element) in record.operations {
        guard let read = lastReads[list], read.begin > record.end, !read.elements.contains(element)
        else { continue }
        note(.lost, "\(element) of l\(list): \(record)")
      }
    }
  }

  private mutating func checkUpdates() {
    struct Base: Hashable {
      let list: Int
      let elements: [Int]
    }
    var updates: [Base: [Int]] = [:]
    for place in records.indices where isCommitted[place] {
      for (list, version) in versions(place) where version.made != nil {
        updates[Base(list: list, elements: version.read), default: []].append(place)
      }
    }
    let doubles = updates.filter { $0.value.count > 1 }
    for places in doubles.values.sorted(by: { $0[0] < $1[0] }) {
      note(.lostUpdate, places.map { "\(records[$0])" }.joined(separator: " and "))
    }
  }

  // MARK: Cycles

  private func graph() -> DependencyGraph {
    var graph = DependencyGraph(vertices: records.count * 2)
    for (list, order) in orders.sorted(by: { $0.key < $1.key }) {
      let places = order.map { element -> Int? in
        guard let writer = writers[Element(list: list, element: element)], isCommitted[writer.place]
        else { return nil }
        return writer.place
      }
      for (place, next) in zip(places, places.dropFirst()) {
        guard let place, let next else { continue }
        graph.add(place, next, .writeWrite, "l\(list)")
      }
      for place in records.indices where isCommitted[place] {
        guard let read = versions(place)[list]?.read, order.starts(with: read) else { continue }
        if let writer = read.isEmpty ? nil : places[read.count - 1] {
          graph.add(writer, place, .writeRead, "l\(list) up to \(read[read.count - 1])")
        }
        if read.count < order.count, let next = places[read.count] {
          graph.add(place, next, .readWrite, "l\(list) without \(order[read.count])")
        }
      }
    }
    addRealTime(&graph)
    return graph
  }

  /// The vertices behind those of the transactions are the moments at which acknowledged ones ended.
  private func addRealTime(_ graph: inout DependencyGraph) {
    let ended = records.indices.filter { records[$0].outcome == .acknowledged }
      .sorted { records[$0].end < records[$1].end }
    for (moment, place) in ended.enumerated() {
      graph.add(place, records.count + moment, .realTime)
      if moment > 0 { graph.add(records.count + moment - 1, records.count + moment, .realTime) }
    }
    for place in records.indices where isCommitted[place] {
      // How many had ended before it began.
      var (low, high) = (0, ended.count)
      while low < high {
        let middle = (low + high) / 2
        if records[ended[middle]].end < records[place].begin { low = middle + 1 } else { high = middle }
      }
      if low > 0 { graph.add(records.count + low - 1, place, .realTime) }
    }
  }

  private mutating func checkCycles() {
    let graph = graph()
    for edge in graph.edges where edge.kind == .readWrite {
      let (reader, writer) = (records[edge.source], records[edge.target])
      guard writer.outcome == .acknowledged, writer.end < reader.begin else { continue }
      note(.staleRead, "\(reader) has read \(edge.words), which \(writer) had appended before")
    }
    let known: DependencyGraph.Kinds = [.writeWrite, .writeRead]
    let steps: [(Anomaly.Kind, DependencyGraph.Kinds, DependencyGraph.Kinds, Bool)] = [
      (.writeCycle, .writeWrite, .writeWrite, false),
      (.informationCycle, .writeRead, known, false),
      (.readSkew, .readWrite, known, false),
      (.nonadjacent, .readWrite, known.union(.readWrite), true),
      (.writeSkew, .readWrite, known.union(.readWrite), false),
    ]
    // Edges, and circles of transactions, that were told as something worse.
    var (told, circles): (Set<Int>, Set<Set<Int>>) = ([], [])
    for (kind, first, others, isNonadjacent) in steps {
      for isRealTime in [false, true] {
        let kinds = isRealTime ? others.union(.realTime) : others
        let component = graph.components(kinds.union(first))
        for (number, edge) in graph.edges.enumerated()
        where edge.kind == first && component[edge.source] == component[edge.target]
          && !told.contains(number)
        {
          guard
            let way = graph.way(
              edge.target, edge.source, kinds, component, isNonadjacent: isNonadjacent)
          else { continue }
          told.insert(number)
          let cycle = [edge] + way
          guard circles.insert(Set(cycle.map(\.source))).inserted else { continue }
          note(kind, isRealTime: isRealTime, words(cycle))
        }
      }
    }
  }

  private func words(_ cycle: [DependencyGraph.Edge]) -> String {
    var words: [String] = []
    for edge in cycle where edge.source < records.count {
      let sign =
        switch edge.kind {
        case .writeWrite: "-ww \(edge.words)->"
        case .writeRead: "-wr \(edge.words)->"
        case .readWrite: "-rw \(edge.words)->"
        default: "-ended before->"
        }
      words.append("\(records[edge.source].name) \(sign)")
    }
    let concerned = cycle.map(\.source).filter { $0 < records.count }.map { "\(records[$0])" }
    return words.joined(separator: " ") + " \(records[cycle[0].source].name): "
      + concerned.joined(separator: "; ")
  }
}
