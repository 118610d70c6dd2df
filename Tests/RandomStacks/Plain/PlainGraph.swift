import CoreData

/// What is known of one record: its entity, its values, and the other ends of its relationships.
struct PlainRecord: Equatable {
  let kind: Int
  var values: [String: PlainValue] = [:]
  /// In order; of a to-one relationship none or one. Deleted records may still be listed in relationships without inverse.
  var ends: [String: [Int]] = [:]
}

/// Records by number and what edits do to them: the reference that Core Data is compared with. A value, so that taking back is
/// taking an earlier one.
struct PlainGraph {
  let model: ModelPlan
  var records: [Int: PlainRecord]
  /// Records that were changed, made or deleted since the graph was made.
  private(set) var touched: Set<Int> = []

  init(_ model: ModelPlan, _ records: [Int: PlainRecord]) {
    self.model = model
    self.records = records
  }

  subscript(_ number: Int) -> PlainRecord? { records[number] }

  func numbers(_ entity: Int) -> [Int] {
    records.filter { model.isKind[$0.value.kind][entity] }.keys.sorted()
  }

  /// The members that are there.
  func members(_ number: Int, _ name: String) -> [Int] {
    (records[number]?.ends[name] ?? []).filter { records[$0] != nil }
  }

  func relationships(_ number: Int) -> [RelationshipPlan] {
    records[number].map { model.relationships[$0.kind] } ?? []
  }

  func attributes(_ number: Int) -> [AttributePlan] {
    records[number].map { model.attributes[$0.kind] } ?? []
  }

  // MARK: Edits

  mutating func insert(_ number: Int, _ kind: Int) {
    var record = PlainRecord(kind: kind)
    for attribute in model.attributes[kind] { record.values[attribute.name] = attribute.defaultValue }
    records[number] = record
    touched.insert(number)
  }

  mutating func set(_ number: Int, _ name: String, _ value: PlainValue) {
    records[number]?.values[name] = value
    touched.insert(number)
  }

  /// Makes `other` a member, and this a member of the other's.
  mutating func link(_ number: Int, _ end: RelationshipPlan, _ other: Int) {
    touched.formUnion([number, other])
    if records[number]?.ends[end.name]?.contains(other) == true { return }
    if !end.isToMany {
      for old in records[number]?.ends[end.name] ?? [] { unlink(number, end, old) }
    }
    if let inverse = end.inverse.flatMap({ model.relationship[$0] }), !inverse.isToMany {
      for owner in records[other]?.ends[inverse.name] ?? [] { unlink(other, inverse, owner) }
    }
    records[number]?.ends[end.name, default: []].append(other)
    if let inverse = end.inverse, !(inverse == end.name && number == other) {
      records[other]?.ends[inverse, default: []].append(number)
    }
  }

  mutating func unlink(_ number: Int, _ end: RelationshipPlan, _ other: Int) {
    touched.formUnion([number, other])
    records[number]?.ends[end.name]?.removeAll { $0 == other }
    if let inverse = end.inverse { records[other]?.ends[inverse]?.removeAll { $0 == number } }
  }

  /// Replaces all members; those of an ordered relationship are in this order then.
  mutating func setMembers(_ number: Int, _ end: RelationshipPlan, _ members: [Int]) {
    for old in records[number]?.ends[end.name] ?? [] where !members.contains(old) {
      unlink(number, end, old)
    }
    for new in members { link(number, end, new) }
    if end.isOrdered { records[number]?.ends[end.name] = members }
    touched.insert(number)
  }

  // MARK: Deleting

  /// Everything that goes with `number`, itself included.
  func doomed(by number: Int) -> Set<Int> {
    var result: Set<Int> = [number]
    var waiting = [number]
    while let next = waiting.popLast() {
      for end in relationships(next) where end.rule == .cascadeDeleteRule {
        for member in members(next, end.name) where result.insert(member).inserted { waiting.append(member) }
      }
    }
    return result
  }

  /// Whether an object that stays forbids that.
  func isDenied(_ doomed: Set<Int>) -> Bool {
    doomed.contains { number in
      relationships(number).contains {
        $0.rule == .denyDeleteRule && !members(number, $0.name).allSatisfy(doomed.contains)
      }
    }
  }

  /// Objects that stay and refer to deleted ones in relationships without inverse, or that take no action.
  func referring(to doomed: Set<Int>) -> [Int] {
    records.filter { number, record in
      !doomed.contains(number) && record.ends.values.contains { !doomed.isDisjoint(with: $0) }
    }.keys.sorted()
  }

  mutating func delete(_ number: Int) {
    let doomed = doomed(by: number)
    touched.formUnion(doomed)
    for gone in doomed.sorted() {
      for end in relationships(gone) where end.rule != .noActionDeleteRule {
        guard let inverse = end.inverse else { continue }
        for other in members(gone, end.name) where !doomed.contains(other) {
          touched.insert(other)
          records[other]?.ends[inverse]?.removeAll { $0 == gone }
        }
      }
    }
    for gone in doomed { records[gone] = nil }
  }

  /// References without inverse to deleted records are cleared when the deletion is stored.
  mutating func settle() {
    let there = Set(records.keys)
    for number in there {
      for end in relationships(number) where end.inverse == nil {
        records[number]?.ends[end.name]?.removeAll { !there.contains($0) }
      }
    }
  }
}
