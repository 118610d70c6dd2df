import Foundation

// How a key path of a `#Predicate` becomes the name of a property. There is no runtime that could be asked: the key path is
// followed on a probe, an object of its class that is in no context and no store, and what it reads is noted.
//
// A probe is a fault that never fires. Its accessors come to the branches that other faults come to, and no further: reading
// objects that have rows costs nothing more.

/// What a key path reads of a probe while it is followed, and what it is given.
///
/// Attributes answer a value that no accessor makes up; in the second round another one. A key path whose result is this value
/// both times is the attribute; one that computes something of it is not. Where the key path leads to an enumeration, attributes answer the raw
/// values of its cases, one in each round. An accessor that traps on other values it does not know traps: nothing can catch that.
/// Docs/Queries.md says what to write instead.
final class ProbeRecording: @unchecked Sendable {
  // @unchecked Sendable: made, used and dropped inside one call, on one thread; task-local values must be Sendable.

  /// The recording under way on this thread.
  @TaskLocal static var current: ProbeRecording?

  /// A property that was read.
  struct Read: Hashable {
    let entity: Int
    let slot: Int
  }

  /// What attributes answer.
  enum Answer {
    /// A value that nobody writes.
    case first
    /// Another one.
    case second
    /// A raw value of an enumeration.
    case raw(Any)
    /// One of several values of a composite attribute, of ``CompositeSamples``.
    case sample(Int)
    /// What a row of values has: the accessors make of it what they make of an object's.
    case row
  }

  private let schema: Schema
  fileprivate let answer: Answer
  private(set) var reads: [Read] = []
  /// Of which probe each of them was read.
  private var noted: [(probe: ManagedObject, slot: Int)] = []
  /// Those whose values no probe can be given: nothing can be said of what is made of them.
  private(set) var opaque: Set<Read> = []

  /// The elements that a composite attribute has answered; nil when no value can be made of samples.
  var composite: [String: Any]?
  /// The type of the composite or transformable attribute that was read last.
  var wholeType: Any.Type?
  /// Which of several values composite attributes have.
  var round: Int { if case .sample(let round) = answer { round } else { 0 } }

  /// Whether a row answers, so that the values are those of an object.
  var isReplaying: Bool { if case .row = answer { true } else { false } }
  /// The row that answers.
  var row: [FetchedDictionary.Value] = []
  /// Its columns for what the key path reads, one behind the other.
  var steps: [Int] = []
  /// Its columns for the elements of the composite attribute at the end, by slot.
  var elements: [Int: Int] = [:]
  /// How many relationships have been followed.
  var depth = 0
  /// The row's column with the ID of its object, if it has one.
  var identifierColumn: Int?
  /// Is told of values in rows that are none of their properties' types.
  var report: ((ReadFailure) -> Void)?

  /// The ID of the object whose property a row answers for; nil when the row does not say it.
  var subject: ManagedObjectID? {
    let column = depth > 0 && depth <= steps.count ? steps[depth - 1] : identifierColumn
    if let column, case .object(let id) = row[column] { return id }
    return nil
  }

  init(_ schema: Schema, _ answer: Answer) {
    self.schema = schema
    self.answer = answer
  }

  /// What the attribute in `slot` of `probe` answers.
  func value(_ slot: Int, of probe: ManagedObject) -> AttributeValue {
    if case .row = answer {
      let column = elements[slot] ?? (depth < steps.count ? steps[depth] : nil)
      if let column, case .value(let value) = row[column] { return value }
      return .null
    }
    note(slot, of: probe)
    return Self.value(probe.home.entity.attributes[slot].type, answer)
  }

  /// What the to-one relationship of `probe` leads to: another probe.
  func target(_ relationship: RelationshipSchema, of probe: ManagedObject) -> ManagedObject? {
    if case .row = answer {
      guard depth < steps.count, case .object = row[steps[depth]] else { return nil }
      depth += 1
      return ManagedObject.probe(schema.entities[relationship.destination])
    }
    note(relationship.slot, of: probe)
    return ManagedObject.probe(schema.entities[relationship.destination])
  }

  /// A property is read that answers whatever value its type has.
  func noteOpaque(_ slot: Int, of probe: ManagedObject) {
    note(slot, of: probe)
    opaque.insert(Read(entity: probe.home.entity.number, slot: slot))
  }

  /// An accessor may read its property several times. Of another probe it is another step, as in `partner.partner`.
  func note(_ slot: Int, of probe: ManagedObject) {
    if noted.contains(where: { $0.probe === probe && $0.slot == slot }) { return }
    noted.append((probe, slot))
    reads.append(Read(entity: probe.home.entity.number, slot: slot))
  }

  /// The value that attributes of `type` answer; nil of types that cannot be compared.
  static func value(_ type: AttributeType, _ answer: Answer) -> AttributeValue {
    var isSecondRound = false
    switch answer {
    case .first, .row, .sample: break
    case .second: isSecondRound = true
    case .raw(let raw): if let value = AttributeValue(raw, type: type) { return value }
    }
    let number = isSecondRound ? -9_876.25 : 12_345.5
    switch type {
    case .integer16, .integer32, .integer64: return .integer(Int64(number.rounded(.towardZero)))
    case .double: return .double(number)
    case .float: return .float(Float(number))
    case .decimal: return .decimal(Decimal(number))
    case .boolean: return .boolean(!isSecondRound)
    case .string: return .string(isSecondRound ? "a second probe of Strata" : "a probe of Strata")
    case .date: return .date(Date(timeIntervalSinceReferenceDate: number))
    case .binaryData: return .data(Data([0xA5, 0x5A, isSecondRound ? 1 : 0]))
    case .uuid:
      return .uuid(
        UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, isSecondRound ? 17 : 16)))
    case .uri:
      return URL(string: isSecondRound ? "strata:second-probe" : "strata:probe").map { .url($0) } ?? .null
    case .undefined, .transformable, .objectID, .composite: return .null
    }
  }
}

extension ManagedObject {
  /// A probe of an entity, in no context.
  static func probe(_ entity: EntitySchema) -> ManagedObject {
    let type = entity.managedObjectClass as? ManagedObject.Type ?? ManagedObject.self
    let probe = ThreadScope.current.materializing { type.init(materializing: entity.entityDescription) }
    probe.becomeProbe(entity.entityDescription)
    return probe
  }
}

/// A view of a to-many relationship, of whatever element.
protocol RelatedMembers {
  var owner: ManagedObject { get }
  var relationship: RelationshipSchema { get }
  /// The key paths of the view that ask for no member.
  static var countPath: AnyKeyPath { get }
  static var emptyPath: AnyKeyPath { get }
}

extension RelatedObjects: RelatedMembers {
  static var countPath: AnyKeyPath { \RelatedObjects<Element>.count }
  static var emptyPath: AnyKeyPath { \RelatedObjects<Element>.isEmpty }
}

extension OrderedRelatedObjects: RelatedMembers {
  static var countPath: AnyKeyPath { \OrderedRelatedObjects<Element>.count }
  static var emptyPath: AnyKeyPath { \OrderedRelatedObjects<Element>.isEmpty }
}

extension ManagedObject {
  /// Whether a key path is followed on the object: what it answers is no value of any row.
  package final var isFollowed: Bool {
    guard state.contains(.probe), let recording = ProbeRecording.current else { return false }
    if case .row = recording.answer { return false }
    return true
  }
}
