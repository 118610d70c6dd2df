/// Which names of one model continue which names of an earlier, or later, one.
///
/// A renaming identifier is the name that a thing had first (rule 308), so it stays what it is over any number of versions, and
/// two versions that are not neighbours still know each other's things. That it is the name in the version before is understood too.
enum NameMatching {
  /// A thing that may have been renamed.
  struct Name {
    let name: String
    /// The renaming identifier, when it says something else than the name.
    let identifier: String?

    var canonical: String { identifier ?? name }
  }

  /// For each new name the place of the old one that it continues; nil for what is new. No old one is continued twice.
  ///
  /// Those with renaming identifiers choose first: then a name that another one has given up is free for something new.
  static func match(_ new: [Name], with old: [Name]) -> [Int?] {
    var result = [Int?](repeating: nil, count: new.count)
    var isTaken = [Bool](repeating: false, count: old.count)
    func choose(_ fits: (Name, Name) -> Bool) {
      for (place, name) in new.enumerated() where result[place] == nil {
        guard let found = old.indices.first(where: { !isTaken[$0] && fits(name, old[$0]) }) else { continue }
        result[place] = found
        isTaken[found] = true
      }
    }
    choose { $0.identifier != nil && $0.identifier == $1.identifier && $0.name == $1.name }
    choose { $0.identifier != nil && $0.identifier == $1.identifier }
    choose { $0.identifier != nil && $0.identifier == $1.name }
    choose { $0.name == $1.name }
    choose { $0.name == $1.canonical }
    return result
  }
}

extension NameMatching {
  /// The new names of which it is unknown what they were, since others say that they were the same: pairs of places among the new, in
  /// order, with the old name. The first of a pair has it now.
  static func conflicts(_ new: [Name], with old: [Name]) -> [(first: Int, second: Int, old: String)] {
    let matches = match(new, with: old)
    return new.indices.compactMap { place in
      guard matches[place] == nil else { return nil }
      let name = new[place]
      // The one that has taken this identifier, or this name where there is none.
      let wanted = old.indices.first { candidate in
        guard let identifier = name.identifier else { return old[candidate].name == name.name }
        return old[candidate].identifier == identifier || old[candidate].name == identifier
      }
      guard let wanted, let taker = matches.firstIndex(of: wanted), new[taker].identifier != nil else {
        return nil
      }
      return (taker, place, old[wanted].name)
    }
  }
}

extension EntityDescription {
  var matchingName: NameMatching.Name {
    NameMatching.Name(
      name: name ?? "", identifier: explicitRenamingIdentifier == name ? nil : explicitRenamingIdentifier)
  }
}

extension SlotDescription {
  var matchingName: NameMatching.Name {
    NameMatching.Name(name: name, identifier: canonicalName == name ? nil : canonicalName)
  }
}
