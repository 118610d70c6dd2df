import SwiftData

/// A class of models.
enum Kind: Int, CaseIterable, Sendable {
  case thing, tool, toy, part, person, label, house

  /// With what it inherits.
  var attributes: [Field] {
    let ofThings: [Field] = [
      .name, .note, .weight, .count, .born, .mood, .x, .y, .words, .payload,
    ]
    switch self {
    case .thing: return ofThings
    case .tool: return ofThings + [.grade]
    case .toy: return ofThings + [.colour]
    case .part: return [.name, .size]
    case .person: return [.name, .birthday]
    case .label, .house: return [.name]
    }
  }

  var links: [Link] { Link.allCases.filter { $0.owners.contains(self) } }
}

/// An attribute of one or several classes; of a structure, each of its parts: contexts merge them one by one.
enum Field: Int, CaseIterable, Sendable {
  case name, note, weight, count, born, mood, x, y, words, payload, grade, colour, size, birthday
}

/// What an attribute is set to.
enum PlainValue: Hashable, Sendable {
  case text(String?)
  case whole(Int?)
  case real(Double?)
  case date(Date?)
  case mood(Mood)
  case words([String])
  case bytes(Data?)

  /// A random one that fits.
  static func random(_ attribute: Field, _ dice: inout Dice) -> PlainValue {
    let number = dice.roll(1_000)
    switch attribute {
    case .name: return .text(["", "a", "Ä\(number % 7)", "name \(number % 20)"][dice.roll(4)])
    case .note, .colour:
      return .text(dice.chance(30) ? nil : String(repeating: "note \(number) ", count: 1 + number % 9))
    case .weight: return .real([0, -0.5, Double(number) / 8, 1e300][dice.roll(4)])
    case .count: return .whole(dice.chance(30) ? nil : number - 500)
    case .grade, .size: return .whole(number - 500)
    case .born: return .date(Date(timeIntervalSinceReferenceDate: Double(number) * 1_000.5))
    case .birthday:
      return .date(dice.chance(30) ? nil : Date(timeIntervalSinceReferenceDate: Double(-number)))
    case .mood: return .mood(Mood.allCases[number % 3])
    case .x: return .real(Double(number))
    case .y: return .real(dice.chance(50) ? nil : Double(number % 3))
    case .words: return .words((0..<dice.roll(4)).map { "word \(number + $0)" })
    case .payload:
      if dice.chance(30) { return .bytes(nil) }
      // Some are too large for a row. No two are the same: a large value is never known to be that which is stored.
      var bytes = Data(count: dice.chance(20) ? 40_000 : number)
      withUnsafeBytes(of: dice.next()) { bytes.append(contentsOf: $0) }
      return .bytes(bytes)
    }
  }

  /// What a new model starts with.
  static func initial(_ attribute: Field) -> PlainValue {
    switch attribute {
    case .name: .text("")
    case .note, .colour: .text(nil)
    case .weight: .real(0)
    case .count: .whole(nil)
    case .grade: .whole(3)
    case .size: .whole(0)
    case .born: .date(Date(timeIntervalSinceReferenceDate: 0))
    case .birthday: .date(nil)
    case .mood: .mood(.calm)
    case .x: .real(0)
    case .y: .real(nil)
    case .words: .words([])
    case .payload: .bytes(nil)
    }
  }
}

/// One end of a relationship.
enum Link: Int, CaseIterable, Sendable {
  case owner, things, labels, labelled, parts, tool, house, tenant, boss, staff

  var inverse: Link {
    switch self {
    case .owner: .things
    case .things: .owner
    case .labels: .labelled
    case .labelled: .labels
    case .parts: .tool
    case .tool: .parts
    case .house: .tenant
    case .tenant: .house
    case .boss: .staff
    case .staff: .boss
    }
  }

  var isToMany: Bool {
    switch self {
    case .things, .labels, .labelled, .parts, .staff: true
    case .owner, .tool, .house, .tenant, .boss: false
    }
  }

  /// Whether what it leads to goes with its owner.
  var cascades: Bool { self == .parts || self == .house }

  var owners: [Kind] {
    switch self {
    case .owner, .labels: [.thing, .tool, .toy]
    case .things, .house, .boss, .staff: [.person]
    case .labelled: [.label]
    case .parts: [.tool]
    case .tool: [.part]
    case .tenant: [.house]
    }
  }
}

/// A model as it should be.
struct Record: Equatable, Sendable {
  let kind: Kind
  var values: [Field: PlainValue]
  /// Only links that lead somewhere.
  var links: [Link: Set<Int>] = [:]

  init(_ kind: Kind) {
    self.kind = kind
    values = Dictionary(uniqueKeysWithValues: kind.attributes.map { ($0, PlainValue.initial($0)) })
  }

  subscript(_ link: Link) -> Set<Int> {
    get { links[link] ?? [] }
    set { links[link] = newValue.isEmpty ? nil : newValue }
  }
}
