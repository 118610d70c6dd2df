import Foundation
import Strata

/// The model the validation tests live in: a surf club with a rule of every kind.
///
///     Member ──boards──▶▶ Board       one or two, or none
///     Member ──mentor──▶ Member       without inverse; a predicate: no member is their own mentor
///     Board                           plain: no rules, no validators
///     Plaque                          a class that does in its validators what a test asks for
///     Ledger                          a class that overrides `validateValue(_:forKey:)`
enum ClubModel {
  static let founded = Date(timeIntervalSinceReferenceDate: 0)
  static let closed = Date(timeIntervalSinceReferenceDate: 1_000_000)

  /// The model after `change`, with `more` entities.
  static func make(
    adding more: [EntityDescription] = [], _ change: ([String: EntityDescription]) -> Void = { _ in }
  ) -> ManagedObjectModel {
    let member = EntityDescription(
      "Member", managedObjectClass: Member.self,
      properties: [
        AttributeDescription(
          "name", .string, isOptional: false,
          rules: [
            .minimumLength(2), .maximumLength(10, warning: "Names are short here."), .pattern("[A-Z].*"),
          ]),
        AttributeDescription("age", .integer16, rules: [.minimum(0), .maximum(150)]),
        AttributeDescription("visits", .integer32, rules: [.minimum(1), .maximum(100)]),
        AttributeDescription("total", .integer64, rules: [.minimum(1), .maximum(100)]),
        AttributeDescription("score", .double, rules: [.minimum(0.5), .maximum(9.5)]),
        AttributeDescription("weight", .float, rules: [.minimum(0.5), .maximum(9.5)]),
        AttributeDescription(
          "fee", .decimal, rules: [.minimum(1), .maximum(.decimal(Decimal(string: "99.99") ?? 0))]),
        AttributeDescription("joined", .date, rules: [.minimum(founded), .maximum(closed)]),
        AttributeDescription("lucky", .integer64, rules: [.predicate(Odd(), warning: "Luck is odd.")]),
        AttributeDescription("page", .uri),
        AttributeDescription("biography", .string, rules: [.minimumLength(3), .maximumLength(100_000)]),
        AttributeDescription("mood", .string, isTransient: true, rules: [.maximumLength(5)]),
        AttributeDescription("scratch", .undefined, isTransient: true, rules: [.predicate(NotSeven())]),
      ])
    let board = EntityDescription(
      "Board", managedObjectClass: Board.self, properties: [AttributeDescription("name", .string)])
    let boards = RelationshipDescription("boards", to: board, minCount: 1, maxCount: 2)
    let owner = RelationshipDescription("owner", to: member, maxCount: 1)
    boards.inverseRelationship = owner
    owner.inverseRelationship = boards
    let mentor = RelationshipDescription("mentor", to: member, maxCount: 1)
    mentor.validationRules = [.predicate(Named(), warning: "A mentor has a name.")]
    member.properties += [boards, mentor]
    board.properties += [owner]
    let plaque = EntityDescription(
      "Plaque", managedObjectClass: Plaque.self,
      properties: [
        AttributeDescription("text", .string, rules: [.maximumLength(20)]),
        AttributeDescription("number", .integer16),
        AttributeDescription("remark", .string),
        AttributeDescription("loose", .undefined, isTransient: true),
      ])
    let ledger = EntityDescription(
      "Ledger", managedObjectClass: Ledger.self,
      properties: [
        AttributeDescription("text", .string),
        AttributeDescription("pages", .integer64, rules: [.minimum(1)]),
      ]
    )
    let entities = [member, board, plaque, ledger]
    change(Dictionary(uniqueKeysWithValues: entities.map { ($0.name ?? "", $0) }))
    return ManagedObjectModel(entities: entities + more)
  }

  struct Odd: ValidationPredicate {
    func evaluate(with value: Any?) -> Bool { (value as? Int64).map { $0 % 2 != 0 } ?? false }
  }

  struct NotSeven: ValidationPredicate {
    func evaluate(with value: Any?) -> Bool { value as? Int != 7 && value as? Int64 != 7 }
  }

  struct Named: ValidationPredicate {
    func evaluate(with value: Any?) -> Bool { (value as? Member)?.name != nil }
  }
}

final class Member: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }

  /// A member that is valid.
  @discardableResult
  static func make(_ name: String? = "Duke", in context: ManagedObjectContext) -> Member {
    let member = Member(context: context)
    member.name = name
    return member
  }
}

final class Board: ManagedObject {
  override class var declaredSlots: [String]? { [] }
}

/// A subclass with a validator of its own.
final class SmallPlaque: Plaque {
  override class var declaredSlots: [String]? { ["text", "number", "remark", "loose", "depth"] }

  override class var valueValidators: [ValueValidator] {
    super.valueValidators + [
      ValueValidator("remark") { (_: SmallPlaque, remark: inout String?) in remark = remark?.uppercased() }
    ]
  }
}

/// Mistakes a text for a date.
final class WrongPlaque: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  override class var valueValidators: [ValueValidator] {
    [ValueValidator("text") { (_: WrongPlaque, _: inout Date?) in }]
  }
}

/// Its validators call what a test has put there.
class Plaque: ManagedObject {
  override class var declaredSlots: [String]? { ["text", "number", "remark", "loose"] }

  var onText: (Plaque, inout String?) throws -> Void = { _, _ in }
  var onNumber: (Plaque, inout Int?) throws -> Void = { _, _ in }
  var onLoose: (Plaque, inout Any?) throws -> Void = { _, _ in }
  var onInsert: (Plaque) throws -> Void = { _ in }
  var onWillSave: (Plaque) -> Void = { _ in }
  private(set) var textCalls = 0

  override class var valueValidators: [ValueValidator] {
    super.valueValidators + [
      ValueValidator("text") { (plaque: Plaque, text: inout String?) in
        plaque.textCalls += 1
        try plaque.onText(plaque, &text)
      },
      ValueValidator("number") { (plaque: Plaque, number: inout Int?) in try plaque.onNumber(plaque, &number)
      },
      ValueValidator("loose") { (plaque: Plaque, loose: inout Any?) in try plaque.onLoose(plaque, &loose) },
    ]
  }

  var text: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var number: Int16 {
    get { readInt16(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var remark: String? {
    get { readString(slot: 2) }
    set { write(newValue, slot: 2) }
  }

  @discardableResult
  static func make(_ text: String?, in context: ManagedObjectContext) -> Plaque {
    let plaque = Plaque(context: context)
    plaque.text = text
    return plaque
  }

  override func willSave() {
    super.willSave()
    onWillSave(self)
  }
  override func validateForInsert() throws {
    try super.validateForInsert()
    try onInsert(self)
  }
}

/// Sees every value.
final class Ledger: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  private(set) var keys: [String] = []

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    keys.append(key)
    try super.validateValue(&value, forKey: key)
    if key == "text" { value = (value as? String)?.uppercased() }
  }
}

/// The errors that `body` throws, several as several.
func errors(_ body: () throws -> Void) -> [any Error] {
  do {
    try body()
    return []
  } catch let error as CoreDataError where error.code == .validationMultipleErrors {
    return error.userInfo[CoreDataError.Key.detailedErrors] as? [any Error] ?? []
  } catch let error as CocoaError
    where error.errorCode == CoreDataError.Code.validationMultipleErrors.rawValue
  {
    // Objects in no context speak as Core Data's code expects once its names are in use anywhere in the process.
    return error.userInfo[CoreDataError.Key.detailedErrors] as? [any Error] ?? []
  } catch { return [error] }
}
