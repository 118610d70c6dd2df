/// Names that both Foundation and CoreData have on Linux: in a file that imports both they mean neither, until the module says which.
enum SharedNames {
  static let all = ["NSExpression", "NSComparisonPredicate"]

  /// One line for each that the target's sources use and do not declare themselves.
  static func text(for files: [SourceDeclarations]) -> String {
    let own = Set(files.flatMap { $0.types.map(\.name) + $0.aliases.map(\.name) })
    let used = all.filter { name in !own.contains(name) && files.contains { $0.mentioned.contains(name) } }
    if used.isEmpty { return "" }
    return "import CoreData\n\n"
      + used.map { "public typealias \($0) = CoreData.\($0)\n" }.joined()
  }
}
