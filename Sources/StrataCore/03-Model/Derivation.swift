/// How a derived attribute's value follows from other values, read from its expression.
///
/// ```
///   name   category.name                       a copy, also of an attribute at the end of a to-one relationship
///   canonical:(name)  uppercase:(name)  lowercase:(name)      the same, of a string, in another form
///   children.@count                            how many there are
///   children.@sum.amount                       the sum of an attribute of theirs
///   now()                                      when the object was last saved
/// ```
enum Derivation: Hashable, Sendable {
  /// A form of a string.
  enum Form: String, Hashable, Sendable, CaseIterable {
    case canonical, uppercase, lowercase
  }

  case copy(path: [String], Form?)
  case count(relationship: String)
  case sum(relationship: String, attribute: String)
  case now

  /// Nil when the text is none of the forms.
  init?(_ text: String) {
    if text == "now()" {
      self = .now
      return
    }
    for form in Form.allCases where text.hasPrefix("\(form.rawValue):(") && text.hasSuffix(")") {
      guard let path = Self.path(text.dropFirst(form.rawValue.count + 2).dropLast()) else { return nil }
      self = .copy(path: path, form)
      return
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if parts.count == 2, parts[1] == "@count", !parts[0].isEmpty {
      self = .count(relationship: parts[0])
    } else if parts.count >= 3, parts[1] == "@sum", !parts[0].isEmpty,
      let path = Self.path(parts[2...].joined(separator: ".")[...])
    {
      self = .sum(relationship: parts[0], attribute: path.joined(separator: "."))
    } else if let path = Self.path(text[...]) {
      self = .copy(path: path, nil)
    } else {
      return nil
    }
  }

  private static func path(_ text: Substring) -> [String]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let isPath = parts.allSatisfy { part in
      !part.isEmpty && !part.contains { "@:() ".contains($0) }
    }
    return isPath ? parts : nil
  }
}

/// A derived attribute of a compiled entity.
struct DerivedSchema: Hashable, Sendable {
  enum Source: Hashable, Sendable {
    /// An attribute of the same row.
    case own(slot: Int)
    /// An attribute of the row at the end of a to-one relationship.
    case across(relationship: Int, slot: Int)
    case count(relationship: Int)
    case sum(relationship: Int, slot: Int)
    case now
  }

  /// The derived attribute's slot.
  let slot: Int
  let source: Source
  let form: Derivation.Form?
}

/// What derived attributes of a whole schema follow from, for those who look what a save has changed.
struct DerivedSources: Sendable {
  /// An attribute that derived attributes of other rows follow from.
  struct Watch: Hashable, Sendable {
    let slot: Int
    /// The relationship through which they see it.
    let relationship: Int
  }

  /// By entity number: its attributes that other rows look at.
  let watches: [[Watch]]
  /// By relationship number: whether something is derived from who the members are.
  let countsMembers: [Bool]

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
