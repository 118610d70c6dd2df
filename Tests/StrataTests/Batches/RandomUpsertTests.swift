import Foundation
@_spi(Testing) import Strata
import Testing
import TortureKit

/// Random batch inserts under every merge policy, of rows that are mostly there already, against a plain list of records: what the rows make of
/// it one by one (rules 205, 272, 273).
struct RandomUpsertTests {
  @Test("rule 205: batches settle duplicates as a plain list does, row by row", arguments: 0..<6)
  func againstAPlainList(round: Int) throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("RandomUpsertTests seed \(seed)")
    var run = try UpsertRun(seed: seed)
    // Longer when chance has left out what the story is about.
    for step in 0..<600 where step < 60 || run.refusals == 0 || run.settled == 0 {
      do {
        try run.step()
      } catch {
        Issue.record("seed \(seed): \(error)\n\(run.story)")
        return
      }
    }
    #expect(run.refusals > 0 && run.settled > 0)
  }

  @Test(
    "rule 205: nil for a to-one counts as given, also first in an event")
  func nilAsTheFirstThingInAnEvent() throws {
    let run = try UpsertRun(seed: 1)
    let writer = run.store.context()
    let owner = try #require(run.owners["x"])
    _ = writer.new("Thing", ["key": "k", "owner": writer.object(with: owner)])
    try writer.save()
    var isDone = false
    let request = BatchInsertRequest(entityName: "Thing") { (object: ManagedObject) in
      if isDone { return true }
      isDone = true
      object["key"] = "k"
      object.managedObjectContext?.processPendingChanges()
      object["owner"] = nil
      object["note"] = "given"
      return false
    }
    run.context.mergePolicy = .mergeByPropertyObjectTrump
    try run.context.execute(request)
    let things = try run.store.context().fetch(FetchRequest<ManagedObject>(entityName: "Thing"))
    #expect(things.count == 1 && things[0]["note"] as? String == "given")
    #expect(things.first?["owner"] == nil)
  }
}

/// What is stored, as plain values.
private struct PlainRecords {
  struct Record: Equatable {
    var isSpecial: Bool
    var values: [String: String]
  }

  static let defaults = ["b": "0", "num": "5"]
  static let constraints = [["key"], ["a", "b"]]
  static let names = ["key", "a", "b", "num", "note", "owner"]

  var records: [Record] = []

  /// The records that have the values of a constraint; nil belongs to no record.
  private func owners(_ values: [String: String], _ constraint: [String]) -> [Int] {
    let wanted = constraint.map { values[$0] }
    if wanted.contains(nil) { return [] }
    return records.indices.filter { place in constraint.map { records[place].values[$0] } == wanted }
  }

  /// What a row becomes: a record, or nothing; nil when it must be refused.
  mutating func add(_ given: [String: String?], isSpecial: Bool, _ type: MergePolicyType) -> Outcome? {
    var values = Self.defaults
    for (name, value) in given { values[name] = value }
    let hits = Self.constraints.map { owners(values, $0) }
    let all = Set(hits.joined())
    if all.isEmpty {
      records.append(Record(isSpecial: isSpecial, values: values))
      return .record(records.count - 1, isNew: true)
    }
    switch type {
    case .error: return nil
    case .rollback, .mergeByPropertyStoreTrump: return .nothing
    case .overwrite, .mergeByPropertyObjectTrump: break
    }
    var target = all
    if all.count > 1, type == .mergeByPropertyObjectTrump {
      let named = zip(Self.constraints, hits).filter { $0.0.contains(where: given.keys.contains) }
      let found = Set(named.flatMap(\.1))
      if found.count == 1 { target = found }
    }
    guard target.count == 1, let place = target.first, records[place].isSpecial || !isSpecial else {
      return nil
    }
    if type == .overwrite {
      records[place].values = values
    } else {
      for (name, value) in given { records[place].values[name] = value }
    }
    let isAlone = Self.constraints.allSatisfy { owners(records[place].values, $0).count < 2 }
    return isAlone ? .record(place, isNew: false) : nil
  }

  enum Outcome {
    case record(Int, isNew: Bool)
    case nothing
  }

  var words: [String] {
    records.map { record in
      (record.isSpecial ? "special " : "")
        + Self.names.map { "\($0) \(record.values[$0] ?? "nil")" }.joined(separator: " ")
    }.sorted()
  }
}

private struct UpsertRun {
  let store: TemporaryStore
  let context: ManagedObjectContext
  private var plain = PlainRecords()
  private var random: SeededGenerator
  private(set) var owners: [String: ManagedObjectID] = [:]
  private(set) var story = ""
  private(set) var refusals = 0
  private(set) var settled = 0

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    let special = EntityDescription("Special", properties: [AttributeDescription("extra", .string)])
    let thing = EntityDescription(
      "Thing",
      properties: [
        AttributeDescription("key", .string), AttributeDescription("a", .integer64),
        AttributeDescription("b", .integer64, defaultValue: 0),
        AttributeDescription("num", .integer32, defaultValue: 5), AttributeDescription("note", .string),
      ],
      uniquenessConstraints: PlainRecords.constraints,
      indexes: [FetchIndexDescription(name: "byNum", attributes: ["num", "note"])], subentities: [special])
    let owner = EntityDescription("Owner", properties: [AttributeDescription("name", .string)])
    let there = RelationshipDescription("owner", to: owner, maxCount: 1)
    let back = RelationshipDescription("things", to: thing, maxCount: 0)
    there.inverseRelationship = back
    back.inverseRelationship = there
    thing.properties.append(there)
    owner.properties.append(back)
    store = try TemporaryStore(ManagedObjectModel(entities: [thing, special, owner]))
    context = store.context()
    for name in ["x", "y"] { owners[name] = context.new("Owner", ["name": name]).objectID }
    try context.save()
  }

  /// What a row is given.
  private mutating func given() -> [String: String?] {
    var values: [String: String?] = [:]
    if random.chance(75) { values["key"] = .some(random.chance(10) ? nil : "k\(random.below(12))") }
    if random.chance(50) { values["a"] = .some(random.chance(10) ? nil : "\(random.below(6))") }
    if random.chance(40) { values["b"] = .some("\(random.below(3))") }
    if random.chance(40) { values["num"] = .some(random.chance(40) ? "5" : "\(random.below(9))") }
    if random.chance(40) { values["note"] = .some(random.chance(20) ? nil : "n\(random.below(9))") }
    if random.chance(30) { values["owner"] = .some(random.chance(20) ? nil : random.pick(["x", "y"])) }
    return values
  }

  private func value(_ text: String?, _ name: String) -> Any {
    guard let text else { return NSNull() }
    switch name {
    case "a", "b", "num": return Int(text) ?? 0
    case "owner": return owners[text] ?? NSNull()
    default: return text
    }
  }

  private func request(_ entity: String, _ rows: [[String: Any]], form: Int) -> BatchInsertRequest {
    var rest = rows[...]
    switch form {
    case 0: return BatchInsertRequest(entityName: entity, objects: rows)
    case 1:
      return BatchInsertRequest(entityName: entity) { (values: inout [String: Any]) in
        guard let row = rest.popFirst() else { return true }
        values = row
        return false
      }
    default:
      return BatchInsertRequest(entityName: entity) { (object: ManagedObject) in
        guard let row = rest.popFirst() else { return true }
        for (number, (name, value)) in row.enumerated() {
          // Some handlers end events.
          if number == 1 { object.managedObjectContext?.processPendingChanges() }
          let related = (value as? ManagedObjectID).flatMap { object.managedObjectContext?.object(with: $0) }
          object[name] = value is NSNull ? nil : related ?? value
        }
        return false
      }
    }
  }

  mutating func step() throws {
    let type = random.pick([
      MergePolicyType.mergeByPropertyObjectTrump, .mergeByPropertyObjectTrump, .overwrite,
      .mergeByPropertyStoreTrump, .rollback, .error,
    ])
    let isSpecial = random.chance(20)
    let rows = (0..<random.below(random.pick([2, 5, 40]))).map { _ in given() }
    var next = plain
    var concerned: [Int: Bool] = [:]
    var isRefused = false
    for row in rows {
      switch next.add(row, isSpecial: isSpecial, type) {
      case nil: isRefused = true
      case .nothing: break
      case .record(let place, let isNew): if concerned[place] == nil { concerned[place] = isNew }
      }
      if isRefused { break }
    }
    let form = random.below(3)
    var request = request(
      isSpecial ? "Special" : "Thing",
      rows.map { row in row.reduce(into: [:]) { $0[$1.key] = value($1.value, $1.key) } },
      form: form)
    request.step = random.pick([1, 3, 10, 65_536])
    request.resultType = .objectIDs
    context.mergePolicy = MergePolicy(merge: type)
    story =
      "\(type), form \(form), step \(request.step), special \(isSpecial):\n"
      + rows.map { "\($0)" }.joined(separator: "\n") + "\nupon\n" + plain.words.joined(separator: "\n")
    do {
      let result = try context.execute(request)
      if isRefused { throw Wrong(what: "should have been refused") }
      plain = next
      if concerned.values.contains(false) { settled += 1 }
      let updated = concerned.values.count { !$0 }
      guard result.count == concerned.count, result.objectIDs?.count == concerned.count,
        result.updatedObjectIDs?.count == updated
      else {
        throw Wrong(what: "\(result) instead of \(concerned.count) records, \(updated) of them updated")
      }
    } catch let error as CoreDataError where error.code == .managedObjectConstraintMerge {
      if !isRefused { throw Wrong(what: "refused: \(error)") }
      refusals += 1
    }
    try check()
  }

  struct Wrong: Error { let what: String }

  private func check() throws {
    let found = try store.fresh { context in
      try context.all("Thing").map { thing in
        (thing.entity.name == "Special" ? "special " : "")
          + PlainRecords.names.map { name in
            let value = name == "owner" ? thing.end("owner")?["name"] : thing[name]
            return "\(name) \(value ?? "nil")"
          }.joined(separator: " ")
      }.sorted()
    }
    if found != plain.words {
      throw Wrong(
        what: "stored is\n\(found.joined(separator: "\n"))\nand not\n\(plain.words.joined(separator: "\n"))")
    }
    let problems = try store.problems()
    if !problems.isEmpty { throw Wrong(what: "\(problems)") }
  }
}
