extension String {
  /// The text with another text for each `mark`. A mark with an accent on it, which is one character with it, is a mark all the same to whoever reads bytes: a
  /// server, a shell, a reader of CSV.
  package func replacing(mark: Unicode.Scalar, with text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar == mark { result.append(contentsOf: text.unicodeScalars) } else { result.append(scalar) }
    }
    return String(result)
  }
}
