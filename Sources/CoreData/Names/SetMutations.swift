import StrataCore

/// What is done to the members of a set.
public enum NSKeyValueSetMutationKind: UInt, Sendable {
  /// Members come.
  case union = 1
  /// Members go.
  case minus = 2
  /// Those go that are not among the given ones.
  case intersect = 3
  /// The given ones take the place of all.
  case set = 4
}

/// What is done to the members of an ordered relationship.
public enum NSKeyValueChange: UInt, Sendable {
  /// Others take the place of all.
  case setting = 1
  /// Members come.
  case insertion = 2
  /// Members go.
  case removal = 3
  /// Others take the place of some.
  case replacement = 4
}

extension NSManagedObject {
  /// Says that members of the ordered relationship `key` are about to change: the object counts as changed. Accessors need no such bracket.
  public final func willChange(
    _ changeKind: NSKeyValueChange, valuesAt indexes: IndexSet, forKey key: String
  ) {
    willChangeValue(forKey: key, remembersRelated: true)
  }

  /// Says that members of the ordered relationship `key` have been changed.
  public final func didChange(
    _ changeKind: NSKeyValueChange, valuesAt indexes: IndexSet, forKey key: String
  ) {
    endChange(ofKey: key)
  }

  /// Says that members of the set `key` are about to change: the object counts as changed. Accessors need no such bracket.
  public final func willChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {
    willChangeValue(forKey: key, remembersRelated: false)
  }

  /// Says that members of the set `key` have been changed. The relationship then has and has not what the change says, and the other ends follow,
  /// whatever has been done to its primitive value, which is a set of its own here.
  public final func didChangeValue(
    forKey key: String, withSetMutation mutationKind: NSKeyValueSetMutationKind,
    using objects: Set<AnyHashable>
  ) {
    if let relationship = entity.relationshipsByName[key], relationship.isToMany, !relationship.isOrdered {
      let members = mutableSetValue(forKey: key)
      switch mutationKind {
      case .union: members.union(objects)
      case .minus: members.minus(objects)
      case .intersect: members.intersect(objects)
      case .set: members.setSet(objects)
      }
    }
    endChange(ofKey: key)
  }
}
