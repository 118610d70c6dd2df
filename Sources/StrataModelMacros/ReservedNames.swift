/// Names that no property of a model can have.
enum ReservedNames {
  /// Whose the name is; nil for one that is free.
  static func owner(of name: String) -> String? {
    if ofObjects.contains(name) { return "a property of every ManagedObject" }
    if written.contains(name) { return "what @Managed writes into the class" }
    return ofLanguage.contains(name) ? "a word of the language" : nil
  }

  private static let ofObjects: Set<String> = [
    "objectID", "entity", "managedObjectContext", "isInserted", "isUpdated", "isDeleted", "isFault",
    "hasChanges", "faultingState", "description", "debugDescription", "hash", "hashValue",
    "hasPersistentChangedValues", "entityName", "superclass", "observationInfo", "predicateExpression",
  ]

  private static let written: Set<String> = [
    "Slots", "Value", "entityDeclaration", "ignoredProperties", "_setInitialValues", "CodingKeys",
  ]

  /// Also in backticks they mean themselves after a dot.
  private static let ofLanguage: Set<String> = ["self", "Self", "init", "Type", "Protocol"]
}
