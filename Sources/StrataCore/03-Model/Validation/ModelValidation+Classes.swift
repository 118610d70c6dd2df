/// What is wrong with the classes of a model's entities.
///
/// A class whose accessors use slot numbers reads and writes whatever property has that number. So it says which names it means, and they are
/// compared with the model's; one that says nothing is taken only where classes find their properties by name.
extension ModelValidation {
  /// One sentence for each entity whose class does not say what its slot numbers mean.
  static func sentences(undeclaredIn schema: Schema) -> [String] {
    schema.entities.compactMap { entity in
      guard let type = entity.managedObjectClass as? any SlotDeclaring.Type, type.declaredSlots == nil,
        base(of: type) != type
      else { return nil }
      let names = entity.entityDescription.slotDescriptions.map(\.name)
      if names.isEmpty { return nil }
      return """
        Class \(type) of entity \(entity.name) does not declare its slots, so a change of the model could make it read and write \
        another property; add to it: \(declaration(names)), or [] if it uses no slot numbers.
        """
    }
  }

  mutating func checkClass(of entity: EntityDescription) {
    guard let declaredClass = entity.managedObjectClass else { return }
    guard let type = declaredClass as? any SlotDeclaring.Type else {
      report("Class \(declaredClass) of entity \(label(entity)) is no subclass of ManagedObject.")
      return
    }
    if let type = declaredClass as? any ValueChecking.Type { checkValidatedKeys(of: entity, type) }
    checkStoredProperties(of: entity, type)
    checkSlots(of: entity, type)
  }

  private mutating func checkSlots(of entity: EntityDescription, _ type: any SlotDeclaring.Type) {
    guard let declared = type.declaredSlots, !declared.isEmpty else { return }
    let actual = entity.slotDescriptions.map(\.name)
    if declared == actual || isDeclaration(declared, ofAncestorOf: entity, type) { return }
    report(
      """
      Class \(type) declares the slots \(declared.joined(separator: ", ")), but entity \(label(entity)) has \
      \(actual.joined(separator: ", ")); its accessors must use the numbers of: \(Self.declaration(actual)).
      """)
  }

  /// Whether the class is that of a superentity, whose slots it declares: they come first in the subentity.
  private func isDeclaration(
    _ declared: [String], ofAncestorOf entity: EntityDescription, _ type: any SlotDeclaring.Type
  ) -> Bool {
    var ancestor = entity.superentity
    while let current = ancestor {
      if current.managedObjectClass == type, current.slotDescriptions.map(\.name) == declared { return true }
      ancestor = current.superentity
    }
    return false
  }

  /// A stored property that has the name of one of the model's hides it: what is set there is never saved.
  private mutating func checkStoredProperties(of entity: EntityDescription, _ type: any SlotDeclaring.Type) {
    let base: AnyClass = Self.base(of: type)
    if base == type { return }
    let kept = Set(entity.slotDescriptions.filter { !$0.isTransient }.map(\.name))
    var seen = Set<String>()
    for name in StoredProperties.names(of: type, below: base) where kept.contains(name) {
      guard seen.insert(name).inserted else { continue }
      report(
        """
        Class \(type) has a stored property \(name), which hides the property of entity \(label(entity)) and is never saved; \
        make it a computed one, or @NSManaged, or give it another name.
        """)
    }
  }

  /// `ManagedObject`, which a lower floor does not know: the class that declares slots and whose superclass does not.
  private static func base(of type: any SlotDeclaring.Type) -> AnyClass {
    var current: AnyClass = type
    while let superclass = _getSuperclass(current), superclass is any SlotDeclaring.Type {
      current = superclass
    }
    return current
  }

  private static func declaration(_ names: [String]) -> String {
    "override class var declaredSlots: [String]? { [" + names.map { "\"\($0)\"" }.joined(separator: ", ")
      + "] }"
  }
}
