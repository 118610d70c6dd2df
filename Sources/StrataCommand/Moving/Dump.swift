import ArgumentParser
import Foundation
import StrataCore

/// Everything in a store as text.
struct Dump: StoreTask {
  static let configuration = CommandConfiguration(
    abstract:
      "Writes everything in a store as JSON Lines, or as a folder of CSV files; the store may be in use meanwhile.",
    discussion: """
      A line for the store and its model, a line for each object, lines for the members of relationships that no object's line says, and a last line that \
      counts them. “strata load” makes an equal store of it, whose dump has the same bytes. Without a file everything goes to standard output. Takes the \
      same little memory however large the store is, but for the largest value.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Argument(
    help: "The file or, with --csv, the folder to write; “-” for standard output. It must not exist.",
    completion: .file())
  var destination: String = "-"
  @Flag(help: "A folder with a CSV file for each entity, and one for the members of each relationship.")
  var csv = false
  @Flag(help: "Replace a file that is there.") var force = false
  @Flag(help: "Say what was written as JSON. Not with standard output.") var json = false
  @Flag(help: "Say how long it took, and how much memory, on standard error.") var figures = false
  var subject: String? { store }
  static let readsServers = true

  func validate() throws {
    if destination == "-" && csv { throw ValidationError("--csv needs a folder to write to.") }
    if destination == "-" && json { throw ValidationError("--json needs a file or folder to write to.") }
    if csv && force { throw ValidationError("--force replaces files, and no folders.") }
  }

  func perform() throws {
    let measured = figures ? Figures() : nil
    let counts = try StorePath.read(store) { window -> DumpCounts in
      if csv {
        let folder = try CSVFolder(destination, window)
        return try DumpWalk(window, folder).run()
      }
      if destination == "-" { return try DumpWalk(window, DumpLines(window, Output.current)).run() }
      let file = try OutputFile(destination, replaces: force)
      let counts = try DumpWalk(window, DumpLines(window, file.output)).run()
      try file.finish()
      return counts
    }
    if let measured { try Output.errors.line(measured.line(counts.objects)) }
    if destination == "-" { return }
    if json {
      try Output.current.json([
        "destination": .string(destination), "objects": .number(counts.objects),
        "members": .number(counts.members),
      ])
    } else {
      try Output.current.line(
        "\(Words.counted(counts.objects, "object")) and \(Words.counted(counts.members, "member")) of relationships in \(destination)."
      )
    }
  }
}

/// How much was written.
struct DumpCounts: Equatable {
  var objects = 0
  var members = 0
}

/// A form that a store can be written in.
protocol DumpSink {
  mutating func begin(_ facts: StoreFacts) throws
  mutating func write(_ row: FetchedRow) throws
  /// Some members of a relationship, from a place on.
  mutating func write(
    _ members: ArraySlice<UInt64>, from place: Int, of relationship: RelationshipSchema, _ owner: FetchedRow)
    throws
  mutating func end(_ counts: DumpCounts) throws
}

/// Goes through a store: all rows, hierarchy by hierarchy in the order of their keys, then the members.
struct DumpWalk<Sink: DumpSink> {
  private let window: StoreWindow
  private var sink: Sink
  private let shapes: [EntityShape]
  /// The most members that are written at a time.
  private static var membersAtATime: Int { 256 }
  /// Of so many owners the members are asked for together, where that is done at all, until they are so many.
  private var ownersAtOnce = 8
  private static var mostMembers: Int { 16_384 }

  init(_ window: StoreWindow, _ sink: Sink) {
    self.window = window
    self.sink = sink
    shapes = EntityShape.all(window.schema)
  }

  consuming func run() throws -> DumpCounts {
    var walk = self
    return try walk.walk()
  }

  private mutating func walk() throws -> DumpCounts {
    var counts = DumpCounts()
    let progress = ProgressLine()
    defer { progress.end() }
    try sink.begin(try window.facts())
    let hierarchies = window.schema.hierarchies.sorted { $0.rootName < $1.rootName }
    let total = try hierarchies.reduce(0) { try $0 + window.rowCount(of: $1.number) }
    for hierarchy in hierarchies {
      var next: UInt64? = 0
      while let key = next {
        let rows: [FetchedRow]
        (rows, next) = try window.rows(of: hierarchy.number, from: key)
        for row in rows { try sink.write(row) }
        counts.objects += rows.count
        progress.show(counts.objects, of: total, "objects")
      }
    }
    for hierarchy in hierarchies
    where hierarchy.memberNumbers.contains(where: { !shapes[$0].told.isEmpty }) {
      var next: UInt64? = 0
      while let key = next {
        let rows: [FetchedRow]
        (rows, next) = try window.rows(of: hierarchy.number, from: key, most: 256)
        try writeMembers(rows, &counts)
        progress.show("members of relationships: \(Words.grouped(counts.members)) …")
      }
    }
    try sink.end(counts)
    return counts
  }

  private mutating func writeMembers(_ rows: [FetchedRow], _ counts: inout DumpCounts) throws {
    var known: [Int: (rows: Range<Int>, lists: [[UInt64]])] = [:]
    for (place, row) in rows.enumerated() {
      for relationship in shapes[row.entity].told {
        if known[relationship.number]?.rows.contains(place) != true {
          // Of one owner at a time, which may have many; of several when each question goes to a server and back.
          let end = window.store.isFar ? min(place + ownersAtOnce, rows.count) : place + 1
          let lists = try window.members(relationship, of: rows[place..<end].map(\.primaryKey))
          known[relationship.number] = (place..<end, lists)
          let count = lists.reduce(0) { $0 + $1.count }
          ownersAtOnce = count > Self.mostMembers ? 1 : min(ownersAtOnce * 2, 128)
        }
        guard let (range, lists) = known[relationship.number] else { continue }
        let members = lists[place - range.lowerBound]
        for start in stride(from: 0, to: members.count, by: Self.membersAtATime) {
          let slice = members[start..<min(start + Self.membersAtATime, members.count)]
          try sink.write(slice, from: start, of: relationship, row)
        }
        counts.members += members.count
      }
    }
  }
}

/// JSON Lines.
struct DumpLines: DumpSink {
  /// The number of the form, in the first line.
  static let format = 1

  private let lines: ObjectLines
  private let output: Output
  private var writer = JSONWriter()

  init(_ window: StoreWindow, _ output: Output) {
    lines = ObjectLines(window)
    self.output = output
  }

  mutating func begin(_ facts: StoreFacts) throws {
    writer.clear()
    DumpHeader.write(facts, to: &writer)
    try endLine()
  }

  mutating func write(_ row: FetchedRow) throws {
    writer.clear()
    try lines.write(row, to: &writer)
    try endLine()
  }

  mutating func write(
    _ members: ArraySlice<UInt64>, from place: Int, of relationship: RelationshipSchema, _ owner: FetchedRow
  ) throws {
    writer.clear()
    writer.raw("{\"of\":\"")
    writer.raw(lines.shapes[owner.entity].escapedName)
    writer.raw("/p")
    writer.unsigned(owner.primaryKey)
    writer.raw("\",\"relationship\":")
    writer.string(relationship.name)
    if relationship.isOrdered {
      writer.raw(",\"from\":")
      writer.number(Int64(place))
    }
    writer.raw(",\"members\":[")
    for member in members {
      try lines.writeID(member, owner, to: &writer)
      writer.byte(UInt8(ascii: ","))
    }
    writer.dropComma()
    writer.raw("]}")
    try endLine()
  }

  mutating func end(_ counts: DumpCounts) throws {
    writer.clear()
    JSONValue.object([("end", ["objects": .number(counts.objects), "members": .number(counts.members)])])
      .write(to: &writer)
    try endLine()
    try output.flush()
  }

  private mutating func endLine() throws {
    writer.byte(UInt8(ascii: "\n"))
    try output.write(writer.bytes)
  }
}

/// What stands before the objects: the store, its model, and what else a store in its place must know.
enum DumpHeader {
  static func write(_ facts: StoreFacts, to writer: inout JSONWriter) {
    writer.raw("{\"strata\":\"dump\",\"format\":")
    writer.number(Int64(DumpLines.format))
    writer.raw(",\"store\":")
    writer.string(facts.identifier.uuidString)
    writer.raw(",\"entities\":")
    JSONValue.strings(facts.entities).write(to: &writer)
    writer.raw(",\"nextKeys\":")
    JSONValue.object(facts.counters.sorted { $0.key < $1.key }.map { ($0.key, .number(Int($0.value))) })
      .write(to: &writer)
    if let metadata = facts.metadata {
      writer.raw(",\"metadata\":")
      writer.raw(metadata)
    }
    if !facts.lineage.isEmpty {
      writer.raw(",\"lineage\":")
      JSONValue.strings(facts.lineage).write(to: &writer)
    }
    if !facts.addedIndexes.isEmpty {
      writer.raw(",\"addedIndexes\":[")
      for index in facts.addedIndexes {
        writer.raw(index)
        writer.byte(UInt8(ascii: ","))
      }
      writer.dropComma()
      writer.byte(UInt8(ascii: "]"))
    }
    if facts.recordsHistory { writer.raw(",\"recordsHistory\":true") }
    writer.raw(",\"model\":")
    writer.raw(facts.model)
    writer.byte(UInt8(ascii: "}"))
  }

  /// Reads the object whose opening brace comes next.
  static func read(_ reader: inout JSONReader) throws -> StoreFacts {
    var facts = StoreFacts(model: Data())
    var format: Int64?
    var seen: Set<String> = []
    try reader.forEachMember { key, reader in
      let name = String(decoding: key, as: UTF8.self)
      guard seen.insert(name).inserted else { throw reader.fault("“\(name.prefix(60))” is there twice") }
      switch name {
      case "format": format = try reader.integer()
      case "store":
        let text = try reader.string()
        guard let identifier = UUID(uuidString: text) else {
          throw reader.fault("“\(text.prefix(60))” is no UUID")
        }
        facts.identifier = identifier
      case "entities": facts.entities = try strings(&reader)
      case "nextKeys":
        try reader.forEachMember { name, reader in
          let key = try reader.integer()
          guard key > 0 else { throw reader.fault("The next key is no key") }
          facts.counters[String(decoding: name, as: UTF8.self)] = UInt64(key)
        }
      case "metadata":
        let metadata = Data(try reader.skip())
        guard (try? JSONDecoder().decode([String: MetadataValue].self, from: metadata)) != nil else {
          throw reader.fault("The metadata before is none of a store")
        }
        facts.metadata = metadata
      case "lineage": facts.lineage = try strings(&reader)
      case "addedIndexes": try reader.forEachElement { facts.addedIndexes.append(Data(try $0.skip())) }
      case "recordsHistory": facts.recordsHistory = try reader.boolean()
      case "model": facts.model = Data(try reader.skip())
      default: _ = try reader.skip()
      }
    }
    guard let format, format == DumpLines.format else {
      throw reader.fault(
        "The dump is of format \(format.map(String.init) ?? "none"), and this version reads format \(DumpLines.format)"
      )
    }
    if facts.model.isEmpty { throw reader.fault("The dump has no model") }
    return facts
  }

  private static func strings(_ reader: inout JSONReader) throws -> [String] {
    var texts: [String] = []
    try reader.forEachElement { texts.append(try $0.string()) }
    return texts
  }
}
