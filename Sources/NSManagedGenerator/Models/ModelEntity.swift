/// What a model says of an entity, as far as its class goes.
struct ModelEntity {
  /// Which code Xcode's editor was told to generate.
  enum Code: String {
    /// The class with its properties.
    case `class`
    /// The properties, as an extension of a hand-written class.
    case category
  }

  struct Attribute {
    let name: String
    let type: String
    let isScalar: Bool
    let customClass: String?
  }

  struct Relationship {
    let name: String
    let destination: String
    let isToMany: Bool
    let isOrdered: Bool
  }

  let name: String
  /// As the model has it: `Book`, `.Book`, `Module.Book`; nil for a plain one.
  let className: String?
  let code: Code?
  let parent: String?
  /// File and line.
  let place: String
  var attributes: [Attribute] = []
  var relationships: [Relationship] = []
  /// Fetched properties by name, with the entity each finds.
  var fetched: [(name: String, destination: String)] = []
}
