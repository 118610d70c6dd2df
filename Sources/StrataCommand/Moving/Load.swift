import ArgumentParser
import Foundation
import StrataCore

/// A store of what a dump says.
struct Load: StoreTask {
  static let configuration = CommandConfiguration(
    abstract:
      "Makes a store of a dump, or adds its objects to a store that nobody uses: all of it or nothing.",
    discussion: """
      A new store has the identity, the keys and the model of the dump. Objects that are added to a store get new keys. What is damaged is reported with \
      the number of its line; then nothing is loaded, unless --skip-damaged says that the rest is wanted (exit code 2 tells that something was left out).

      Without a first line that says so, as in files made by hand, the model comes from the store or from --model-from. A CSV file of one entity is \
      loaded with --entity; its first line names the properties, a column “id” may be missing.
      """)

  @Argument(help: "The dump: a file, a folder of CSV files, or “-” for standard input.", completion: .file())
  var dump: String
  @Argument(help: "The store's file: a new one, or with --into one that is there.", completion: .file())
  var store: String
  @Flag(help: "Add to the store that is there.") var into = false
  @Flag(help: "Leave out lines that are damaged, and links to what is not there, and load the rest.")
  var skipDamaged = false
  @Option(help: "The model of a dump that has none.", completion: .file()) var modelFrom: String?
  @Option(help: "The file is a CSV file with objects of this entity.") var entity: String?
  @Flag(help: "As JSON.") var json = false
  @Flag(help: "Say how long it took, and how much memory, on standard error.") var figures = false
  var subject: String? { store }

  func perform() throws {
    let measured = figures ? Figures() : nil
    let report = try LoadRun(
      dump: dump, destination: into ? StorePath.resolved(store) : URL(fileURLWithPath: store), isInto: into,
      skipsDamaged: skipDamaged, modelFrom: modelFrom, entity: entity
    ).run()
    if let measured { try Output.errors.line(measured.line(report.objects)) }
    let output = Output.current
    if json {
      try output.json([
        "store": .string(store), "objects": .number(report.objects), "members": .number(report.members),
        "damagedLines": .array(
          report.damaged.map {
            ["line": .number($0.line), "file": .optional($0.file), "message": .string($0.message)]
          }),
        "damagedCount": .number(report.damagedCount), "lostLinks": .number(report.lostLinks),
      ])
    } else {
      try output.line(
        "\(Words.counted(report.objects, "object")) and \(Words.counted(report.members, "member")) of relationships loaded into \(store)."
      )
      for fault in report.damaged { try Output.errors.line("strata: left out: \(fault.text)") }
      if report.lostLinks > 0 {
        try Output.errors.line(
          "strata: left out: \(Words.counted(report.lostLinks, "link")) to objects that are not there")
      }
      if report.damagedCount > report.damaged.count {
        try Output.errors.line("strata: … and \(report.damagedCount - report.damaged.count) more")
      }
    }
    if report.damagedCount > 0 || report.lostLinks > 0 { throw ExitCode(Failure.Kind.incomplete.rawValue) }
  }
}

/// What was loaded.
struct LoadReport {
  struct Fault {
    let line: Int
    let file: String?
    let message: String
    var text: String { (file.map { "\($0), line " } ?? "line ") + "\(line): \(message)" }
  }

  var objects = 0
  var members = 0
  /// Links to objects that were left out.
  var lostLinks = 0
  /// The first hundred.
  var damaged: [Fault] = []
  var damagedCount = 0
}

/// Something wrong with a line of a dump.
struct LineFault: Error {
  let message: String
  init(_ message: String) { self.message = message }
}

/// Reads a dump into an intake.
final class LoadRun {
  private let dump: String
  private let destination: URL
  private let isInto: Bool
  private let skipsDamaged: Bool
  private let modelFrom: String?
  private let entityName: String?
  private var report = LoadReport()
  private let progress = ProgressLine()

  init(dump: String, destination: URL, isInto: Bool, skipsDamaged: Bool, modelFrom: String?, entity: String?)
  {
    self.dump = dump
    self.destination = destination
    self.isInto = isInto
    self.skipsDamaged = skipsDamaged
    self.modelFrom = modelFrom
    entityName = entity
  }

  func run() throws -> LoadReport {
    defer { progress.end() }
    let exists = access(destination.path, F_OK) == 0
    if !isInto && exists {
      throw Failure(
        .exists, "There is a file \(destination.path) already.",
        advice: "--into adds to the store that is there.")
    }
    if isInto && !exists {
      throw Failure(
        .missing, "There is no store \(destination.path).", advice: "Without --into a new one is made.")
    }
    var isFolder: ObjCBool = false
    if dump != "-", FileManager.default.fileExists(atPath: dump, isDirectory: &isFolder), isFolder.boolValue {
      return try loadFolder()
    }
    let lines = try LineReader(dump)
    if let entityName { return try loadFile(lines, entityName) }
    return try loadLines(lines)
  }

  // MARK: The store

  /// The intake that the facts of a dump ask for; nil facts for a dump that says nothing of its store.
  private func makeIntake(_ facts: StoreFacts?) throws -> StoreIntake {
    let intake = try beginIntake(facts)
    intake.settlesMembers = true
    intake.leavesOutMembers = skipsDamaged
    return intake
  }

  private func beginIntake(_ facts: StoreFacts?) throws -> StoreIntake {
    if isInto {
      let intake = try StoreIntake(into: destination)
      if let facts { try requireSame(try ModelSource.json(facts.model, dump), intake) }
      return intake
    }
    if let facts { return try beginIntake(new: facts) }
    guard let modelFrom else {
      throw Failure(
        .input, "The dump does not say of which model it is.",
        advice: "--model-from names a model for the new store, --into a store that has one.")
    }
    let model = try ModelSource.model(modelFrom)
    return try StoreIntake(new: destination, facts: StoreFacts(model: try model.encodedForStores()))
  }

  private func beginIntake(new facts: StoreFacts) throws -> StoreIntake {
    var facts = facts
    // New objects get keys behind those that are loaded.
    for (name, next) in facts.counters where skipsDamaged && next > StoreReference.largestTaken + 1 {
      facts.counters[name] = nil
      try refuse(1, "The next key of \(name) is to be \(next), which would leave too few for new objects")
    }
    do {
      return try StoreIntake(new: destination, facts: facts)
    } catch let refusal as StoreIntake.Refusal {
      throw Failure(
        .input, text(1, nil, refusal.description) + " Nothing was loaded.",
        advice: "--skip-damaged loads the rest.")
    }
  }

  /// Objects of a dump fit into a store whose entities are the same.
  private func requireSame(_ model: ManagedObjectModel, _ intake: StoreIntake) throws {
    let own = intake.schema.entities.reduce(into: [String: Data]()) { $0[$1.name] = $1.versionHash }
    let differing = model.entityVersionHashesByName.filter { own[$0.key] != $0.value }.keys.sorted()
    if differing.isEmpty { return }
    throw Failure(
      .model,
      "The dump is of another model than the store: \(differing.prefix(5).joined(separator: ", ")) differ.",
      advice: "Load it into a new store, and “strata migrate” that one.")
  }

  private func finish(_ intake: StoreIntake, file: String? = nil) throws -> LoadReport {
    progress.show("checking and flushing …")
    do {
      (_, report.lostLinks) = try intake.finish(mendsLinks: skipsDamaged)
    } catch let refusal as StoreIntake.Refusal {
      throw failure(refusal, file)
    }
    (report.objects, report.members) = (intake.rowCount, intake.keptMemberCount)
    return report
  }

  private func settleSteps(_ intake: StoreIntake, file: String?) throws {
    do {
      try intake.settleSteps()
    } catch let refusal as StoreIntake.Refusal {
      throw failure(refusal, file)
    }
    let (first, count) = intake.takeLeftOut()
    for refusal in first { try refuse(refusal.line, refusal.description, file: file) }
    report.damagedCount += count - first.count
  }

  /// What ends the loading.
  private func failure(_ refusal: StoreIntake.Refusal, _ file: String?) -> Failure {
    let sentence =
      refusal.line > 0
      ? text(refusal.line, refusal.source ?? file, refusal.description) : refusal.description
    return Failure(
      .input, sentence + " Nothing was loaded.",
      advice: refusal.isLink && !skipsDamaged ? "--skip-damaged loads the rest." : nil)
  }

  private func text(_ line: Int, _ file: String?, _ message: String) -> String {
    let place = file.map { "\($0), line \(line)" } ?? "Line \(line)"
    return "\(place): \(message)"
  }

  /// Notes a damaged line, or ends the loading with it.
  private func refuse(_ line: Int, _ message: String, file: String? = nil) throws {
    let sentence = message.hasSuffix(".") ? message : message + "."
    guard skipsDamaged else {
      throw Failure(
        .input, text(line, file, sentence) + " Nothing was loaded.", advice: "--skip-damaged loads the rest.")
    }
    report.damagedCount += 1
    if report.damaged.count < 100 {
      report.damaged.append(LoadReport.Fault(line: line, file: file, message: sentence))
    }
  }

  // MARK: JSON Lines

  private func loadLines(_ lines: LineReader) throws -> LoadReport {
    var intake: StoreIntake?
    var parser: LineParser?
    var hasHeader = false
    var end: DumpCounts?
    var read = DumpCounts()
    while let line = try lines.next() {
      // A line between others that says nothing is none.
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
      if end != nil {
        try refuse(lines.number, "There is something behind the last line of the dump")
        continue
      }
      if intake == nil {
        if line.contains(0) {
          throw Failure(
            .input, "\(dump) is no dump: it is no text.", advice: "“strata dump STORE FILE” writes one.")
        }
        var reader = JSONReader(line)
        if LineParser.isHeader(line) {
          do {
            let facts = try DumpHeader.read(&reader)
            try reader.expectEnd()
            hasHeader = true
            intake = try makeIntake(facts)
          } catch let fault as JSONReader.Fault {
            throw Failure(.input, text(lines.number, nil, "\(fault)."))
          }
        } else {
          intake = try makeIntake(nil)
        }
        // It was made just now.
        parser = LineParser(intake!, isDump: hasHeader)
        if hasHeader { continue }
      }
      guard let parser else { continue }
      do {
        switch try parser.take(line, lines.number) {
        case .object: read.objects += 1
        case .members(let count): read.members += count
        case .end(let counts): end = counts
        }
      } catch let fault as JSONReader.Fault {
        try refuse(lines.number, "\(fault)")
      } catch let fault as LineFault {
        try refuse(lines.number, fault.message)
      } catch let refusal as StoreIntake.Refusal where refusal.line == lines.number {
        try refuse(refusal.line, refusal.description)
      } catch let refusal as StoreIntake.Refusal {
        throw failure(refusal, nil)
      }
      if read.objects & 1_023 == 0 { progress.show(lines.completed, of: lines.total, "bytes") }
    }
    guard let intake else { throw Failure(.input, "The dump is empty.") }
    // What is wrong with an object says more than numbers that do not agree.
    try settleSteps(intake, file: nil)
    // A dump without its first line may have lost others with it.
    if let end, end != read, report.damagedCount == 0 {
      try refuse(
        lines.number,
        "The dump has \(end.objects) objects and \(end.members) members, and \(read.objects) and \(read.members) were read"
      )
    }
    if hasHeader, end == nil {
      try refuse(lines.number + 1, "The dump ends without its last line: it was cut off")
    }
    return try finish(intake)
  }

  // MARK: CSV

  private func loadFile(_ lines: LineReader, _ name: String) throws -> LoadReport {
    let intake = try makeIntake(nil)
    let entity = try Names.entity(name, in: intake.schema)
    try loadObjects(lines, entity, intake, file: nil, isDump: false)
    return try finish(intake)
  }

  private func loadFolder() throws -> LoadReport {
    let header = try LineReader(dump + "/store.json")
    guard let line = try header.next() else { throw Failure(.input, "store.json is empty.") }
    var reader = JSONReader(line)
    let facts: StoreFacts
    do {
      facts = try DumpHeader.read(&reader)
    } catch let fault as JSONReader.Fault {
      throw Failure(.input, text(1, "store.json", "\(fault)."))
    }
    var end: DumpCounts?
    if let line = try header.next() {
      var reader = JSONReader(line)
      end = try? LineParser.end(&reader)
    }
    let intake = try makeIntake(facts)
    let names = Set(try FileManager.default.contentsOfDirectory(atPath: dump))
    var known: Set<String> = ["store.json"]
    let shapes = EntityShape.all(intake.schema)
    for entity in intake.schema.entities.sorted(by: { $0.name < $1.name })
    where names.contains(CSVFolder.name(entity)) {
      known.insert(CSVFolder.name(entity))
      try loadObjects(
        try LineReader(dump + "/" + CSVFolder.name(entity)), entity, intake, file: CSVFolder.name(entity),
        isDump: true)
    }
    var seen: Set<Int> = []
    for relationship in shapes.flatMap(\.told)
    where seen.insert(relationship.number).inserted && names.contains(CSVFolder.name(relationship)) {
      known.insert(CSVFolder.name(relationship))
      try loadMembers(relationship, intake)
    }
    if let stray = names.subtracting(known).filter({ $0.hasSuffix(".csv") }).sorted().first {
      try refuse(1, "The model has nothing that this file could be of", file: stray)
    }
    if end == nil { try refuse(2, "The folder was not written to its end", file: "store.json") }
    if let end, report.damagedCount == 0,
      end != DumpCounts(objects: intake.rowCount, members: intake.memberCount)
    {
      try refuse(
        2,
        "The folder has \(end.objects) objects and \(end.members) members, and \(intake.rowCount) and \(intake.memberCount) were read",
        file: "store.json")
    }
    return try finish(intake)
  }

  private func loadObjects(
    _ lines: LineReader, _ entity: EntitySchema, _ intake: StoreIntake, file: String?, isDump: Bool
  ) throws {
    let reader = CSVReader(lines)
    intake.source = file
    let table: CSVObjects
    do {
      guard let names = try reader.next() else { throw LineFault("The file is empty") }
      table = try CSVObjects(names, entity, intake, isDump: isDump)
    } catch let fault as LineFault {
      throw Failure(.input, text(1, file, "\(fault.message)."))
    } catch let fault as CSVReader.Fault {
      throw Failure(.input, text(1, file, "\(fault.description)."))
    }
    while true {
      do {
        guard let cells = try reader.next() else { break }
        try table.add(cells, line: reader.line)
      } catch let fault as CSVReader.Fault {
        try refuse(reader.line, fault.description, file: file)
      } catch let fault as LineFault {
        try refuse(reader.line, fault.message, file: file)
      } catch let refusal as StoreIntake.Refusal where refusal.line == reader.line {
        try refuse(refusal.line, refusal.description, file: file)
      } catch let refusal as StoreIntake.Refusal {
        throw failure(refusal, file)
      }
      if reader.line & 1_023 == 0 {
        progress.show(lines.completed, of: lines.total, "bytes of \(file ?? dump)")
      }
    }
  }

  private func loadMembers(_ relationship: RelationshipSchema, _ intake: StoreIntake) throws {
    let file = CSVFolder.name(relationship)
    let lines = try LineReader(dump + "/" + file)
    let reader = CSVReader(lines)
    guard let names = try reader.next(), names.map(\.text) == ["owner", "place", "member"] else {
      throw Failure(.input, text(1, file, "The first line is not “owner,place,member”."))
    }
    let parser = LineParser(intake, isDump: true)
    while true {
      do {
        guard let cells = try reader.next() else { break }
        guard cells.count == 3 else {
          throw LineFault("There are \(cells.count) cells, and there should be 3")
        }
        let owner = try parser.object(cells[0].text)
        let member = try parser.object(cells[2].text)
        guard let place = cells[1].text.isEmpty ? 0 : Int(cells[1].text) else {
          throw LineFault("“\(cells[1].text)” is no place")
        }
        try parser.require(owner, owns: relationship)
        try parser.require(member, isMemberOf: relationship)
        try intake.addMember(member, to: relationship, of: owner, place: place, line: reader.line)
      } catch let fault as CSVReader.Fault {
        try refuse(reader.line, fault.description, file: file)
      } catch let fault as LineFault {
        try refuse(reader.line, fault.message, file: file)
      } catch let refusal as StoreIntake.Refusal {
        throw failure(refusal, file)
      }
    }
    try settleSteps(intake, file: file)
  }
}
