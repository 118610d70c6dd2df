import StrataCore

/// Decides what happens to objects whose rows changed underneath, and to duplicates.
public typealias NSMergePolicy = MergePolicy
/// How a merge policy settles conflicts.
public typealias NSMergePolicyType = ManagedMergePolicyType
/// An object whose row is not what the context last read.
public typealias NSMergeConflict = MergeConflict
/// Objects that would share the values of a uniqueness constraint.
public typealias NSConstraintConflict = ConstraintConflict

/// The save fails and writes nothing.
public let NSErrorMergePolicy = NSMergePolicy.error
/// Merges by property, the store's value wins.
public let NSMergeByPropertyStoreTrumpMergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
/// Merges by property, the object's value wins.
public let NSMergeByPropertyObjectTrumpMergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
/// The whole object is written over whatever is stored.
public let NSOverwriteMergePolicy = NSMergePolicy.overwrite
/// The object's changes are dropped.
public let NSRollbackMergePolicy = NSMergePolicy.rollback

extension NSMergePolicyType: SpelledEnumeration {
  typealias Core = StrataCore.MergePolicyType
}

extension NSMergePolicy {
  /// How conflicts are settled.
  public var mergeType: NSMergePolicyType { NSMergePolicyType(self.StrataCore::mergeType) }
}

extension NSManagedObjectContext {
  /// What happens to objects whose rows changed underneath: a policy. Traps for anything else.
  public var mergePolicy: Any {
    get { self.StrataCore::mergePolicy }
    set {
      guard let policy = newValue as? NSMergePolicy else {
        stop("A merge policy is an NSMergePolicy, not \(type(of: newValue)).")
      }
      self.StrataCore::mergePolicy = policy
    }
  }
}
