import StrataModels

// Models that are wrong in a way that no compiler sees.

@Managed final class Leaf: ManagedObject {
  @Attribute(.minimum(1)) var text = ""
  @Attribute(.pattern("[")) var code = ""
}

@Managed final class Sum: ManagedObject {
  @Derived("nothing.@count") var count: Int
  @Relationship(.symmetric) var leaf: Leaf?
}

/// A subclass that declares no entity of its own, with stored properties that look like attributes.
class Plain: ManagedObject {
  static let title = Slot<Plain, String>("title")
  override class var namedSlots: [NamedSlot]? { [NamedSlot(title)] }
}

final class PlainWithEnum: Plain {
  var glass = Glass.clear
  var plants: Set<Garden.Plant> = []
  var beds: [Garden.Bed] = []
  var lookup: [String: Int] = [:]
}
