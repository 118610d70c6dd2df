import Foundation

/// How a derived attribute's value follows from other values, read from its expression.
///
/// ```
///   name   category.name                       a copy, also of an attribute at the end of a to-one relationship
///   canonical:(name)  uppercase:(name)  lowercase:(name)      the same, of a string, in another form
///   children.@count                            how many there are
///   children.@sum.amount                       the sum of an attribute of theirs
///   now()                                      when the object was last saved
/// ```
package enum Derivation: Hashable, Sendable {
  /// A form of a string.
  package enum Form: String, Hashable, Sendable, CaseIterable {
    case canonical, uppercase, lowercase
  }

  case copy(path: [String], Form?)
  case count(relationship: String)
  case sum(relationship: String, attribute: String)
  case now

  /// Nil when the text is none of the forms. Each may be written as an expression prints it, too: `sum:(children.amount)`,
  /// `children.amount.@sum`, `count:(children)`, `uppercase(name)`, `SELF.name`, `#first` for a name that is a word of predicates.
  init?(_ text: String) {
    var parts = [Part]()
    if let (name, argument) = Self.call(text) {
      if name == "now" {
        guard argument.allSatisfy(\.isWhitespace) else { return nil }
        self = .now
        return
      }
      guard let keys = Self.parts(argument) else { return nil }
      if let form = Form(rawValue: name) {
        guard let path = Self.keys(keys) else { return nil }
        self = .copy(path: path, form)
        return
      }
      guard name == "count" || name == "sum", Self.keys(keys) != nil else { return nil }
      parts = keys + [.collectionOperator(name)]
    } else {
      guard let keys = Self.parts(text) else { return nil }
      parts = keys
    }
    let operators = parts.compactMap { if case .collectionOperator(let name) = $0 { name } else { nil } }
    let path = parts.compactMap { if case .key(let key) = $0 { key } else { nil } }
    guard let first = path.first else { return nil }
    switch operators {
    case []: self = .copy(path: path, nil)
    case ["count"] where path.count == 1: self = .count(relationship: first)
    case ["sum"] where path.count > 1:
      self = .sum(relationship: first, attribute: path.dropFirst().joined(separator: "."))
    default: return nil
    }
  }

  /// The one text of what it means, by which version hashes know it.
  var text: String {
    switch self {
    case .now: "now()"
    case .copy(let path, nil): path.joined(separator: ".")
    case .copy(let path, let form?): "\(form.rawValue):(\(path.joined(separator: ".")))"
    case .count(let relationship): "\(relationship).@count"
    case .sum(let relationship, let attribute): "\(relationship).@sum.\(attribute)"
    }
  }

  // MARK: Reading

  private enum Part {
    case key(String)
    case collectionOperator(String)
  }

  /// The name of the function that is called, without its colon, and its one argument; nil for a text that is no call.
  private static func call(_ text: String) -> (name: String, argument: Substring)? {
    guard let open = text.firstIndex(of: "("), text.last == ")" else { return nil }
    let name = text[..<open]
    let argument = text[text.index(after: open)...].dropLast()
    if name.uppercased() == "FUNCTION", let quote = argument.first, quote == "'" || quote == "\"" {
      // FUNCTION("sum:", children.amount)
      guard let end = argument.dropFirst().firstIndex(of: quote) else { return nil }
      let rest = argument[argument.index(after: end)...].drop(while: \.isWhitespace)
      guard rest.isEmpty || rest.first == "," else { return nil }
      return (unmarked(argument[..<end].dropFirst()), rest.dropFirst())
    }
    return (unmarked(name), argument)
  }

  private static func unmarked(_ name: Substring) -> String {
    String(name.last == ":" ? name.dropLast() : name)
  }

  private static func keys(_ parts: [Part]) -> [String]? {
    let keys = parts.compactMap { if case .key(let key) = $0 { key } else { nil } }
    return keys.count == parts.count ? keys : nil
  }

  /// The parts of a key path; nil for anything else.
  private static func parts(_ text: some StringProtocol) -> [Part]? {
    let trimmed = String(text).trimmingCharacters(in: .whitespaces)
    var parts: [Part] = []
    for (place, piece) in trimmed.split(separator: ".", omittingEmptySubsequences: false).enumerated() {
      if place == 0, piece.uppercased() == "SELF", trimmed.count > piece.count { continue }
      if piece.first == "@" {
        parts.append(.collectionOperator(String(piece.dropFirst())))
        continue
      }
      var key = piece
      if key.first == "#" {
        key = key.dropFirst()
        if key.count > 1, key.first == "\"", key.last == "\"" { key = key.dropFirst().dropLast() }
      }
      guard let first = key.first, !first.isNumber,
        !key.contains(where: { "@:() +-*/{}$'\",<>=#".contains($0) })
      else { return nil }
      parts.append(.key(String(key)))
    }
    return parts.isEmpty ? nil : parts
  }
}

/// A derived attribute of a compiled entity.
package struct DerivedSchema: Hashable, Sendable {
  package enum Source: Hashable, Sendable {
    /// An attribute of the same row.
    case own(slot: Int)
    /// An attribute of the row at the end of a to-one relationship.
    case across(relationship: Int, slot: Int)
    case count(relationship: Int)
    case sum(relationship: Int, slot: Int)
    case now
  }

  /// The derived attribute's slot.
  package let slot: Int
  package let source: Source
  package let form: Derivation.Form?
}

/// What derived attributes of a whole schema follow from, for those who look what a save has changed.
package struct DerivedSources: Sendable {
  /// An attribute that derived attributes of other rows follow from.
  package struct Watch: Hashable, Sendable {
    package let slot: Int
    /// The relationship through which they see it.
    package let relationship: Int
  }

  /// By entity number: its attributes that other rows look at.
  package let watches: [[Watch]]
  /// By relationship number: whether something is derived from who the members are.
  package let countsMembers: [Bool]

  /// Nil when no entity has derived attributes.
  init?(entities: [EntitySchema], relationships: [RelationshipSchema]) {
    guard entities.contains(where: { !$0.derived.isEmpty }) else { return nil }
    var watches = [Set<Watch>](repeating: [], count: entities.count)
    var countsMembers = [Bool](repeating: false, count: relationships.count)
    for derived in Set(entities.flatMap(\.derived)) {
      switch derived.source {
      case .own, .now: continue
      case .count(let relationship): countsMembers[relationship] = true
      case .across(let relationship, let slot), .sum(let relationship, let slot):
        if relationships[relationship].isToMany { countsMembers[relationship] = true }
        for entity in entities[relationships[relationship].destination].subtree {
          watches[entity].insert(Watch(slot: slot, relationship: relationship))
        }
      }
    }
    self.watches = watches.map(Array.init)
    self.countsMembers = countsMembers
  }
}
