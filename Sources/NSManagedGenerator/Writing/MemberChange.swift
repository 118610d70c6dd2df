/// A generated method that changes a to-many relationship, known by its name and labels.
struct MemberChange {
  /// The relationship with a capital letter, as it stands in the method's name.
  let relationship: String
  /// What is called of the accessor.
  let call: String
  /// Names for the parameters.
  let arguments: [String]

  init?(_ method: ManagedMethod) {
    let labels = method.parameters.map(\.label)
    for (prefix, forms) in Self.forms where method.name.hasPrefix(prefix) && method.name.count > prefix.count
    {
      for form in forms where form.labels == labels {
        let name = String(method.name.dropFirst(prefix.count))
        if name.first?.isLowercase == true { continue }
        relationship = name
        call = form.call
        arguments = form.arguments
        return
      }
    }
    return nil
  }

  private struct Form {
    let labels: [String?]
    let call: String
    let arguments: [String]
  }

  private static let forms: [(String, [Form])] = [
    ("addTo", [Form(labels: [nil], call: "add(members, to: self)", arguments: ["members"])]),
    (
      "removeFrom",
      [
        Form(labels: [nil], call: "remove(members, from: self)", arguments: ["members"]),
        Form(labels: ["at"], call: "remove(at: index, from: self)", arguments: ["index"]),
      ]
    ),
    (
      "insertInto",
      [
        Form(
          labels: [nil, "at"], call: "insert(members, at: index, into: self)",
          arguments: ["members", "index"])
      ]
    ),
    (
      "replace",
      [
        Form(
          labels: ["at", "with"], call: "replace(at: index, with: members, in: self)",
          arguments: ["index", "members"])
      ]
    ),
  ]
}
