/// The names that Core Data gives to tables and columns.
enum AppleNames {
  /// The table of a hierarchy, by its root.
  static func table(_ entity: String) -> String { "Z" + entity.uppercased() }
  /// The column of an attribute, or of a to-one relationship.
  static func column(_ property: String) -> String { "Z" + property.uppercased() }
  /// The column that tells the entity of what a to-one relationship leads to.
  static func targetEntity(_ property: String, _ destination: Int64) -> String {
    "Z\(destination)_\(property.uppercased())"
  }
  /// The column of the places in an ordered to-many relationship, by the to-one inverse.
  static func order(_ inverse: String) -> String { "Z_FOK_" + inverse.uppercased() }
  /// The column of the owner of members of a to-many relationship without inverse.
  static func owner(_ relationship: String, _ owner: Int64) -> String {
    "Z\(owner)\(relationship.uppercased())"
  }
  /// The table of a many-to-many relationship, by one of its ends.
  static func join(_ relationship: String, _ owner: Int64) -> String {
    "Z_\(owner)\(relationship.uppercased())"
  }
  /// The column of such a table that has what a relationship leads to.
  static func joinColumn(_ relationship: String, _ destination: Int64) -> String {
    "Z_\(destination)\(relationship.uppercased())"
  }
  /// What the other column may be called where a relationship is its own inverse; `Z_6FRIENDS1` beside `Z_6FRIENDS` is the other form.
  static let reflexive = "REFLEXIVE"
  /// The column beside it that has their places.
  static func joinOrder(_ column: String) -> String { "Z_FOK_" + column.dropFirst(2) }

  /// The columns that every table of entities begins with.
  static let systemColumns: Set = ["Z_PK", "Z_ENT", "Z_OPT"]
  /// The first number that the framework keeps for entities of its own.
  static let firstReservedEntity: Int64 = 16_000
  /// The number of the entity of transactions in the history.
  static let transactionEntity: Int64 = 16_002
  /// How the names of the tables of mirroring to CloudKit begin.
  static let mirroringPrefix = "ANSCK"

  /// Whether a name is `base`, or `base` with a number behind it, as names get that there would be twice.
  static func isNumbered(_ name: String, _ base: String) -> Bool {
    name.hasPrefix(base) && name.dropFirst(base.count).allSatisfy { $0.isASCII && $0.isNumber }
  }
}
